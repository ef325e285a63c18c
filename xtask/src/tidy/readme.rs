//! README quotes no figure that no command prints: a table of numbers says "measured with" and the command.

use super::Violation;
use super::tree::Tree;

const README: &str = "README.md";
const PHRASE: &str = "measured with `";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(README) else { return Vec::new() };
    sections(text)
        .into_iter()
        .filter(|section| section.number_row.is_some() && !section.has_command)
        .map(|section| {
            let line = section.number_row.unwrap_or_default();
            Violation::new(
                README,
                line,
                format!("a table of numbers in a section that does not say \"{PHRASE}COMMAND`\""),
            )
        })
        .collect()
}

/// What stands between two headings.
#[derive(Default)]
struct Section {
    /// The line of its first table row that has a number.
    number_row: Option<usize>,
    has_command: bool,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with('#') {
            sections.push(Section::default());
        }
        let Some(section) = sections.last_mut() else { continue };
        section.has_command |= line.to_lowercase().contains(PHRASE);
        if section.number_row.is_none() && is_number_row(line) {
            section.number_row = Some(number);
        }
    }
    sections
}

/// A table row with a cell that begins as a measured number does: a digit, or "~", "<", ">", "≤", "≥" and a digit.
fn is_number_row(line: &str) -> bool {
    let Some(row) = line.trim().strip_prefix('|') else { return false };
    let numbers = row.split('|').map(|cell| cell.trim().trim_start_matches(['~', '<', '>', '≤', '≥', '*', ' ']));
    numbers.skip(1).any(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        check(&Tree::of(&[(README, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn numbers_without_a_command_are_found() {
        assert_eq!(found("# A\n| what | M/s |\n|---|---|\n| echo | 12.4 |\n# B\nmeasured with `cargo`\n"), [4]);
    }

    #[test]
    fn numbers_with_the_command_that_prints_them_pass() {
        assert!(
            found("# A\n| what | M/s |\n|---|---|\n| echo | ~12.4 |\n\nMeasured with `cargo xtask bench`.\n")
                .is_empty()
        );
    }

    #[test]
    fn a_table_of_words_needs_no_command() {
        assert!(found("# A\n| crate | what |\n|---|---|\n| `nebula` | the library |\n").is_empty());
    }
}
