//! Splits Rust source into code and prose by the compiler's own lexer, so that a word is found in
//! one of them.

use super::Violation;
use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// `text` with blanks for every character of a comment, string or character literal except line
/// ends.
pub(super) fn code_of(text: &str) -> String {
    only(text, |is_code| is_code, ' ')
}

/// `text` with a NUL, which is part of no word, for every character of code except spaces and line
/// ends.
pub(super) fn prose_of(text: &str) -> String {
    only(text, |is_code| !is_code, '\0')
}

/// The words, numbers and marks of code, one by one: `a::b` is four. Modules `tests` within a file
/// are left out.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    tokens_at(text).into_iter().map(|(_, token)| token).collect()
}

/// The same, each with its line, counted from 1.
pub(super) fn tokens_at(text: &str) -> Vec<(usize, &str)> {
    let lines = pieces(text).scan(1, |line, (piece, is_code)| {
        let begin = *line;
        *line += piece.matches('\n').count();
        Some((begin, piece, is_code))
    });
    let code = lines.filter(|(_, piece, is_code)| *is_code && !piece.trim().is_empty());
    without_tests(code.map(|(line, piece, _)| (line, piece)).collect())
}

fn without_tests(tokens: Vec<(usize, &str)>) -> Vec<(usize, &str)> {
    let words: Vec<&str> = tokens.iter().map(|&(_, word)| word).collect();
    let (mut kept, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while at < tokens.len() {
        if words[at..].starts_with(&["mod", "tests", "{"]) {
            at += closing(&words[at..]);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The number of tokens up to the end of the first pair of braces.
fn closing(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (token, count) in tokens.iter().zip(1..) {
        depth += usize::from(*token == "{");
        if *token == "}" {
            depth -= 1;
            if depth == 0 {
                return count;
            }
        }
    }
    tokens.len()
}

/// The lines of code of the file `path` that `wrong` objects to.
pub(super) fn wrong_lines(path: &str, text: &str, wrong: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    let code = code_of(text);
    let lines = code.lines().zip(1..);
    lines.filter_map(|(line, number)| Some(Violation::new(path, number, wrong(line)?))).collect()
}

/// The lines that have a comment and no code, each with its number.
pub(super) fn comments(text: &str) -> Vec<(usize, &str)> {
    let prose = prose_of(text);
    let is_comment = |(_, prose): &(&str, &str)| prose.trim_start().starts_with("//");
    let lines = text.lines().zip(prose.lines()).enumerate().filter(|(_, pair)| is_comment(pair));
    lines.map(|(index, (line, _))| (index + 1, line)).collect()
}

/// `text` with `blank` for the visible characters of the pieces that are not kept.
fn only(text: &str, is_kept: impl Fn(bool) -> bool, blank: char) -> String {
    let mut out = String::with_capacity(text.len());
    for (piece, is_code) in pieces(text) {
        match is_kept(is_code) {
            true => out.push_str(piece),
            false => out.extend(piece.chars().map(|c| if c.is_whitespace() { c } else { blank })),
        }
    }
    out
}

/// The text in pieces, and whether each is code: no comment, string or character.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    tokenize(text, FrontmatterAllowed::No).scan(0, |at, token| {
        let begin = *at;
        *at += token.len as usize;
        Some((&text[begin..*at], is_code(token.kind)))
    })
}

fn is_code(kind: TokenKind) -> bool {
    match kind {
        TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => false,
        TokenKind::Literal { kind, .. } => matches!(kind, LiteralKind::Int { .. } | LiteralKind::Float { .. }),
        _ => true,
    }
}

pub(super) fn has_word(code: &str, word: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        !is_inside(before.chars().next_back()) && !is_inside(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(text: &str) -> bool {
        has_word(&code_of(text), "word")
    }

    #[test]
    fn code_is_kept() {
        assert!(keeps("fn f<'a>(x: &'a str) { word }"));
        assert!(keeps("let c = 'x'; word"));
        assert!(keeps("let c = '\\''; word"));
        assert!(keeps("\"a \\\" b\" word"));
        assert!(keeps("r#\"a \" b\"# word"));
        assert!(keeps("/* a /* b */ c */ word"));
        assert!(keeps("// a\nword"));
        assert!(keeps("/// a\nword"));
        assert!(keeps("//! ä\n#![word]"));
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in
            ["// word", "/* /* */ word */", "\"\\\" word\"", "r#\"\" word\"#", "br\"word\"", "/// word\n", "b\"word\""]
        {
            assert!(!keeps(text), "{text}");
        }
    }

    #[test]
    fn prose_is_what_code_is_not() {
        let prose = |text| has_word(&prose_of(text), "word");
        assert!(prose("// a word") && prose("f(\"a word\")") && prose("/* word */ x"));
        assert!(!prose("word // a") && !prose("let word = \"\";"));
        assert_eq!(prose_of("x // a\ny \"b\""), "\0 // a\n\0 \"b\"");
        assert_eq!(prose_of("/// ä b\nx"), "/// ä b\n\0");
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "a\n/* b\n c */ \"d\n\" e\n";
        assert_eq!(code_of(text).lines().count(), text.lines().count());
        assert_eq!(code_of(text).lines().nth(3).map(str::trim), Some("e"));
    }

    #[test]
    fn tokens_are_code_alone_and_not_that_of_tests() {
        assert_eq!(tokens("// a\nb::c(\"d\")"), ["b", ":", ":", "c", "(", ")"]);
        assert_eq!(tokens("a mod tests { b { c } } d mod tests;"), ["a", "d", "mod", "tests", ";"]);
    }

    #[test]
    fn a_word_is_not_part_of_another() {
        assert!(!has_word("unsafe_code forbid_unsafe", "unsafe"));
        assert!(has_word("(unsafe)", "unsafe"));
    }
}
