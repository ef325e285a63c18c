//! Rust source split into code and prose, so that a word found in either is known to be there.

/// `text` with every character of a comment, string or character literal but the line ends made a blank.
pub(super) fn code_of(text: &str) -> String {
    only(text, |is_code| is_code, ' ')
}

/// `text` with every character of code but the spaces and line ends made a NUL, which is part of no word.
pub(super) fn prose_of(text: &str) -> String {
    only(text, |is_code| !is_code, '\0')
}

/// `text` with the visible characters of the pieces that are not kept replaced by `blank`.
fn only(text: &str, is_kept: impl Fn(bool) -> bool, blank: char) -> String {
    let mut blanked = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text;
    while !rest.is_empty() {
        let (bytes, is_code) = piece(rest, before);
        let (piece, after) = rest.split_at(bytes);
        if is_kept(is_code) {
            blanked.push_str(piece);
        } else {
            blanked.extend(piece.chars().map(|c| if c.is_whitespace() { c } else { blank }));
        }
        before = if is_code { piece.chars().next_back() } else { None };
        rest = after;
    }
    blanked
}

/// The length in bytes of what `rest` begins with, and whether that is code.
fn piece(rest: &str, before: Option<char>) -> (usize, bool) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), false);
    }
    let is_word_before = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let Some(bytes) = raw_string(rest).filter(|_| !is_word_before) {
        return (bytes, false);
    }
    match rest.as_bytes() {
        [b'"', ..] => (quoted(rest, '"'), false),
        [b'\'', b'\\', ..] => (quoted(rest, '\''), false),
        [b'\'', ..] if is_char_literal(rest) => (quoted(rest, '\''), false),
        _ => (rest.chars().next().map_or(1, char::len_utf8), true),
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let bytes = &rest.as_bytes()[at..];
        if bytes.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and so on, with or without a `b` or `c` before.
fn raw_string(rest: &str) -> Option<usize> {
    let after_r = rest.strip_prefix("br").or_else(|| rest.strip_prefix("cr")).or_else(|| rest.strip_prefix('r'))?;
    let body = after_r.trim_start_matches('#');
    let hashes = after_r.len() - body.len();
    let body = body.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let begins_at = rest.len() - body.len();
    Some(body.find(&end).map_or(rest.len(), |at| begins_at + at + end.len()))
}

/// From an opening quote to behind its closing one.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A lifetime has no closing quote behind its first character.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    chars.next().is_some() && chars.next() == Some('\'')
}

/// Whether `code` has `word` as a whole word: with no alphanumeric character or underscore on either side.
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
        assert!(keeps("let bar\"x\" = word"));
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
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "a\n/* b\n c */ \"d\n\" e\n";
        assert_eq!(code_of(text).lines().count(), text.lines().count());
        assert_eq!(code_of(text).lines().nth(3).map(str::trim), Some("e"));
    }

    #[test]
    fn a_word_is_not_part_of_another() {
        assert!(!has_word("unsafe_code forbid_unsafe", "unsafe"));
        assert!(has_word("(unsafe)", "unsafe"));
    }
}
