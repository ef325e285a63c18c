//! The source says `Departs:` where the code departs from its paper, and docs/data/departures.tsv
//! lists it.
//!
//! The list is made from the marks (`cargo xtask tidy --bless`), so that the reason is written
//! once, at the code. This rule finds a mark that is not listed, and a row whose mark is gone.

use super::Violation;
use super::tree::Tree;
use crate::area;
use crate::shell::{Failure, Shell, files};

const LIST: &str = "docs/data/departures.tsv";
const HEADER: &str = "file\tdeparture";
const MARK: &str = "Departs:";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(list) = tree.text(LIST) else { return vec![Violation::new(LIST, 0, "is missing")] };
    let listed: Vec<&str> = list.lines().skip(1).collect();
    let marks = rows(tree);
    let unlisted = marks.iter().filter(|row| !listed.contains(&row.as_str()));
    let gone = listed.iter().filter(|line| !marks.iter().any(|row| row == *line));
    let unlisted =
        unlisted.map(|row| Violation::new(LIST, 0, format!("does not list (`cargo xtask tidy --bless`): {row}")));
    let gone = gone
        .map(|line| Violation::new(LIST, 0, format!("lists what no source says (`cargo xtask tidy --bless`): {line}")));
    unlisted.chain(gone).collect()
}

pub(super) fn bless(shell: &Shell, tree: &Tree) -> Result<(), Failure> {
    let text = format!("{HEADER}\n{}\n", rows(tree).join("\n"));
    files::write(shell.root().join(LIST), text)
}

/// One row for each mark in the crates, in the order of the files.
fn rows(tree: &Tree) -> Vec<String> {
    let sources = tree.rust().filter(|(path, _)| area::holds(path));
    sources.flat_map(|(path, text)| marks(text).into_iter().map(move |mark| row(path, &mark))).collect()
}

fn row(path: &str, mark: &str) -> String {
    format!("{path}\t{}", without_links(mark))
}

/// Links to Rust items lead nowhere outside rustdoc: only their text is kept.
fn without_links(mark: &str) -> String {
    let mut parts = mark.split("[`");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('`');
        let Some((linked, rest)) = part.split_once("`]") else {
            text.push_str(part);
            continue;
        };
        let after_target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(_, after)| after);
        text.push_str(linked);
        text.push('`');
        text.push_str(after_target.unwrap_or(rest));
    }
    text
}

/// The text of each mark, to the end of its paragraph, as one line.
fn marks(text: &str) -> Vec<String> {
    let lines: Vec<Option<&str>> = text.lines().map(comment).collect();
    let marked = (0..lines.len()).filter_map(|at| Some((at, lines[at]?.split_once(MARK)?.1)));
    marked
        .map(|(at, first)| {
            let more =
                lines[at + 1..].iter().map_while(|line| line.filter(|said| !said.is_empty() && !said.contains(MARK)));
            std::iter::once(first.trim()).chain(more).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn comment(line: &str) -> Option<&str> {
    let said = line.trim().strip_prefix("//")?;
    Some(said.trim_start_matches(['/', '!']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! Opens.\n//!\n//! Departs: scrubs at once,\n//! so that fewer are refused.\n//!\n//! More.\nfn f() {\n    // Departs: no credit.\n}\n";

    fn found(listed: &str) -> usize {
        let list = format!("{HEADER}\n{listed}\n");
        check(&Tree::of(&[("core/a/src/b.rs", SOURCE), (LIST, &list)])).len()
    }

    #[test]
    fn a_mark_ends_with_its_paragraph() {
        assert_eq!(marks(SOURCE), ["scrubs at once, so that fewer are refused.", "no credit."]);
    }

    #[test]
    fn a_link_to_an_item_keeps_its_text_alone() {
        assert_eq!(without_links("a [`b`](Self::b) (c) [`d`] e."), "a `b` (c) `d` e.");
        assert_eq!(without_links("`b` [x](https://y)."), "`b` [x](https://y).");
    }

    #[test]
    fn marks_and_list_have_to_be_equal() {
        let (first, second) = (
            row("core/a/src/b.rs", "scrubs at once, so that fewer are refused."),
            row("core/a/src/b.rs", "no credit."),
        );
        assert_eq!(found(&format!("{first}\n{second}")), 0);
        assert_eq!(found(&first), 1);
        assert_eq!(found(&format!("{first}\n{second}\nanother")), 1);
    }

    #[test]
    fn a_missing_list_is_found() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
