//! The prose of the tree uses the field's words: no metaphor and no dialect that a reader has to
//! decode.
//!
//! Prose is comments and string literals of Rust, TOML, and Markdown. Text in backticks is code and
//! is not checked.

use std::collections::BTreeMap;

use super::Violation;
use super::code::prose_of;
use super::tree::Tree;

#[derive(Clone, Copy)]
struct Banned {
    /// Lower case; words separated by one space.
    phrase: &'static str,
    instead: &'static str,
}

const BANNED: &str = include_str!("plain_english.tsv");

fn banned() -> impl Iterator<Item = Banned> {
    let rows = BANNED.lines().filter_map(|line| line.split_once('\t'));
    rows.map(|(phrase, instead)| Banned { phrase, instead })
}

/// A banned phrase that is right in one file.
struct Exception {
    path: &'static str,
    phrase: &'static str,
    reason: &'static str,
}

const fn exception(path: &'static str, phrase: &'static str, reason: &'static str) -> Exception {
    Exception { path, phrase, reason }
}

/// MICA's name of a mode.
const CREW: &str = "CREW: concurrent read, exclusive write";

const EXCEPTIONS: &[Exception] = &[
    exception("core/nebula-workload/src/column.rs", "letter", "a letter of the alphabet"),
    exception("runtime/nebula/src/endpoint/address.rs", "letters", "letters of the alphabet"),
    exception("docs/MODEL.md", "crew", CREW),
    exception("CHANGELOG.md", "crew", CREW),
    exception("runtime/nebula-cli/src/kv/partitioned.rs", "crew", CREW),
    exception("runtime/nebula-cli/tests/serve_and_load.rs", "crew", CREW),
    exception("core/nebula-kvs/src/partitions.rs", "crew", CREW),
    exception("docs/PROTOCOL.md", "letters", "letters of the alphabet"),
];

/// Not checked: its exceptions and tests contain banned phrases.
const OWN: &str = "xtask/src/tidy/plain_english.rs";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = tree.files().filter(|(path, _)| is_checked(path)).flat_map(file).collect();
    violations.extend(EXCEPTIONS.iter().filter_map(|exception| unneeded(tree, exception)));
    violations
}

fn is_checked(path: &str) -> bool {
    let is_prose = [".rs", ".toml", ".md"].iter().any(|ending| path.ends_with(ending));
    is_prose && path != OWN
}

fn file((path, text): (&str, &str)) -> Vec<Violation> {
    let said = found(path, text).into_iter().filter(|(banned, _)| !is_excepted(path, banned.phrase));
    said.map(|(banned, line)| {
        Violation::new(path, line, format!("says \"{}\": write {}", banned.phrase, banned.instead))
    })
    .collect()
}

fn is_excepted(path: &str, phrase: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| exception.path == path && exception.phrase == phrase)
}

fn unneeded(tree: &Tree, exception: &Exception) -> Option<Violation> {
    let Exception { path, phrase, reason } = exception;
    let text = tree.text(path)?;
    let is_needed = found(path, text).iter().any(|(banned, _)| banned.phrase == *phrase);
    let what = format!("no longer says \"{phrase}\" ({reason}): remove its exception from {OWN}");
    (!is_needed).then(|| Violation::new(path, 0, what))
}

/// Every banned phrase in the prose of a file, with the line of its first word.
fn found(path: &str, text: &str) -> Vec<(Banned, usize)> {
    let prose = if path.ends_with(".rs") { prose_of(text) } else { text.to_owned() };
    let words = words(&prose);
    let by_first_word = by_first_word();
    let at = |start: usize| {
        let mut candidates = by_first_word.get(words[start].0.as_str())?.iter().copied();
        let banned = candidates.find(|banned| begins_with(&words[start..], banned.phrase))?;
        Some((banned, words[start].1))
    };
    (0..words.len()).filter_map(at).collect()
}

/// The banned phrases by their first word: comparing every phrase at every word takes tens of
/// seconds.
fn by_first_word() -> BTreeMap<&'static str, Vec<Banned>> {
    let mut by_first_word: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for banned in banned() {
        let first = banned.phrase.split(' ').next().unwrap_or_default();
        by_first_word.entry(first).or_default().push(banned);
    }
    by_first_word
}

fn begins_with(words: &[(String, usize)], phrase: &str) -> bool {
    let mut words = words.iter();
    phrase.split(' ').all(|expected| words.next().is_some_and(|(word, _)| word == expected))
}

/// Separators within a phrase, which may cross a line and the comment marker of the next one.
fn joins(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '!' | '#' | '-' | '*' | '>' | '\\')
}

/// The words in lower case with their lines; an empty word wherever punctuation or code ends a
/// phrase.
fn words(prose: &str) -> Vec<(String, usize)> {
    let mut words: Vec<(String, usize)> = Vec::new();
    for (line, number) in prose.lines().zip(1..) {
        for (at, piece) in without_targets(line).split('`').enumerate() {
            if at > 0 {
                words.push((String::new(), number));
            }
            let is_code = at % 2 == 1;
            if !is_code {
                words_of(piece, number, &mut words);
            }
        }
    }
    words
}

/// `line` with a break for the target of each Markdown link, which is a path.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("](");
        text.push_str(part.find(')').map_or("", |end| &part[end..]));
    }
    text
}

fn words_of(piece: &str, number: usize, words: &mut Vec<(String, usize)>) {
    for part in piece.split(joins).filter(|part| !part.is_empty()) {
        for inner in part.split_inclusive(|c: char| !is_of_word(c)) {
            let word = inner.trim_end_matches(|c: char| !is_of_word(c));
            words.push((word.to_lowercase(), number));
            if word.len() < inner.len() && !word.is_empty() {
                words.push((String::new(), number));
            }
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        found(path, text).into_iter().map(|(banned, line)| (banned.phrase, line)).collect()
    }

    #[test]
    fn a_violation_names_file_line_phrase_and_replacement() {
        let tree = Tree::of(&[("a.rs", "fn f() {}\n// Memory that cannot be had.\n")]);
        let shown: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a.rs:2: says \"be had\": write be allocated, be supported, or be available"]);
    }

    #[test]
    fn every_phrase_is_found_in_comments_strings_toml_and_markdown() {
        assert!(banned().count() > 50);
        for Banned { phrase, .. } in banned() {
            let sentence = format!("So {phrase} it is.");
            for (path, text) in [
                ("a.rs", format!("/// {sentence}\nfn f() {{}}")),
                ("a.rs", format!("fn f() {{ g(\"{sentence}\") }}")),
                ("a.toml", format!("# {sentence}")),
                ("a.toml", format!("why = \"{sentence}\"")),
                ("a.md", format!("| {sentence} |")),
            ] {
                assert_eq!(said(path, &text).first().map(|found| found.0), Some(phrase), "{text}");
            }
        }
    }

    #[test]
    fn a_phrase_crosses_lines_and_case_does_not_matter() {
        assert_eq!(said("a.rs", "    //! It is Wound\n    //! up now.\n"), [("wound up", 1)]);
        assert_eq!(said("a.md", "what cannot be\nhad\n"), [("be had", 1)]);
        assert_eq!(said("a.md", "a wind-up toy\n"), [("wind up", 1)]);
    }

    #[test]
    fn parts_of_words_code_and_phrases_across_punctuation_pass() {
        assert!(said("a.rs", "fn wind_up(seat: Seat) { bell.he() } // the indoor lettering\n").is_empty());
        assert!(said("a.rs", "/// Call `seat` or `wind up`; it'll be. Had it been?\n").is_empty());
        assert!(said("a.md", "in the wind, up there\n").is_empty());
        assert!(said("a.md", "see [it](src/door.rs) and [that](bell.md)\n").is_empty());
        assert_eq!(said("a.md", "[the door](a.rs) of [the bell](b.rs)\n").len(), 2);
        assert!(said("a.rs", "// not\nlet x = 1;\n// whole\n").is_empty());
    }

    #[test]
    fn an_exception_counts_for_its_file_and_phrase_alone() {
        let Exception { path, phrase, .. } = EXCEPTIONS[0];
        let text = format!("// A {phrase}.\n");
        assert!(check(&Tree::of(&[(path, &text)])).is_empty());
        assert_eq!(check(&Tree::of(&[("a.rs", &text)])).len(), 1);
        assert_eq!(check(&Tree::of(&[(path, &format!("{text}// The crew.\n"))])).len(), 1);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        assert_eq!(check(&Tree::of(&[(EXCEPTIONS[0].path, "// Nothing.\n")])).len(), 1);
    }

    #[test]
    fn every_exception_is_of_a_banned_phrase() {
        let is_banned = |phrase| banned().any(|banned| banned.phrase == phrase);
        assert!(EXCEPTIONS.iter().all(|exception| is_banned(exception.phrase)));
    }
}
