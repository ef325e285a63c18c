//! Comments and prose end at column 100, which fits next to code in a terminal.
//!
//! Exempt are tables, drawings, code within comments, and a single longer word.

use super::Violation;
use super::code::comments;
use super::tree::Tree;
use crate::markdown;

pub(super) const COLUMNS: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let what = format!("is longer than {COLUMNS} columns");
    let long = tree.files().flat_map(|(path, text)| long_lines(path, text).into_iter().map(move |line| (path, line)));
    long.map(|(path, line)| Violation::new(path, line, what.clone())).collect()
}

/// The lines of prose of a file that could be shorter.
pub(super) fn long_lines(path: &str, text: &str) -> Vec<usize> {
    let is_long = |&(_, line): &(usize, &str)| is_too_long(line);
    if path.ends_with(".md") {
        return markdown::prose(text).into_iter().filter(is_long).map(|(number, _)| number).collect();
    }
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let mut is_code = false;
    let prose = comments(text).into_iter().filter(|(_, line)| {
        let said = line.trim_start().trim_start_matches(['/', '!']);
        let is_fence = said.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !is_laid_out(said)
    });
    prose.filter(is_long).map(|(number, _)| number).collect()
}

fn is_laid_out(said: &str) -> bool {
    said.starts_with("     ") || said.trim().starts_with('|') || said.trim().contains("  ")
}

/// Whether the word that crosses the last column could begin the next line.
fn is_too_long(line: &str) -> bool {
    let Some((crossing, _)) = line.trim_end().char_indices().nth(COLUMNS) else { return false };
    let before = line[..crossing].rfind(' ').map_or("", |at| &line[..at]);
    before.split_whitespace().any(|word| word.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> Vec<usize> {
        long_lines(path, &format!("//! A.\n{line}\n"))
    }

    #[test]
    fn a_comment_beyond_the_last_column_is_found_and_code_is_not() {
        let words = "word ".repeat(20);
        assert_eq!(found("a.rs", &format!("/// {words}")), [2]);
        assert_eq!(found("a.rs", &format!("    // {words}")), [2]);
        assert_eq!(found("a.rs", &format!("const A: &str = \"// {words}\";")), [] as [usize; 0]);
        assert_eq!(found("a.rs", &format!("// {}", &words[..97])), [] as [usize; 0]);
    }

    #[test]
    fn tables_code_and_long_words_are_left_out() {
        let words = "word ".repeat(20);
        for line in [
            format!("//! | {words} |"),
            format!("//! ```\n//! {words}\n//! ```"),
            format!("//!      {words}"),
            format!("//! {}", "word".repeat(30)),
        ] {
            assert_eq!(found("a.rs", &line), [] as [usize; 0], "{line}");
        }
    }

    #[test]
    fn prose_of_pages_is_found_and_their_tables_and_code_are_not() {
        let words = "word ".repeat(21);
        assert_eq!(found("a.md", &format!("\n{words}")), [3]);
        for page in [
            format!("\n| a |\n|---|\n| {words} |"),
            format!("\n```\n{words}\n```"),
            format!("\n- [a]({})", "a/".repeat(60)),
        ] {
            assert_eq!(found("a.md", &page), [] as [usize; 0], "{page}");
        }
    }

    #[test]
    fn each_long_line_is_named() {
        let line = format!("//! {}\n", "word ".repeat(20));
        let tree = Tree::of(&[("core/a.rs", &line), ("core/b.rs", "//! A.\n")]);
        assert_eq!(check(&tree), [Violation::new("core/a.rs", 1, "is longer than 100 columns".to_owned())]);
    }
}
