//! CONTRIBUTING's table of test steps is the table that `cargo xtask test` runs.

use super::Violation;
use super::tree::Tree;
use crate::test;

const PAGE: &str = "CONTRIBUTING.md";
const BEGIN: &str = "| step | what it checks |";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    against(tree, &test::steps().map(|(name, what)| format!("| `{name}` | {what} |")).collect::<Vec<_>>())
}

/// Rows that the page lacks, and rows of its table without a step.
fn against(tree: &Tree, steps: &[String]) -> Vec<Violation> {
    let text = tree.text(PAGE).unwrap_or_default();
    let table = text.lines().zip(1..).skip_while(|(line, _)| *line != BEGIN).skip(2);
    let rows: Vec<(&str, usize)> = table.take_while(|(line, _)| line.starts_with('|')).collect();
    let differing = steps.iter().enumerate().find(|(index, step)| rows.get(*index).is_none_or(|(row, _)| row != step));
    let lacks = differing.map(|(index, step)| {
        let line = rows.get(index).map_or(0, |&(_, line)| line);
        Violation::new(
            PAGE,
            line,
            format!("its table of steps is not that of xtask/src/test.rs; expected here: {step}"),
        )
    });
    let beyond = rows
        .get(steps.len())
        .map(|&(row, line)| Violation::new(PAGE, line, format!("`cargo xtask test` has no step for: {row}")));
    lacks.into_iter().chain(beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[&str]) -> Vec<usize> {
        let page = format!("# C\n{BEGIN}\n|---|---|\n{}\n\nThen.\n", rows.join("\n"));
        let steps = ["| `fmt` | a |", "| `test` | b |"].map(str::to_owned);
        against(&Tree::of(&[(PAGE, &page)]), &steps).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn the_table_of_the_program_passes() {
        assert!(found(&["| `fmt` | a |", "| `test` | b |"]).is_empty());
    }

    #[test]
    fn a_missing_row_a_changed_row_and_one_too_many_are_found() {
        assert_eq!(found(&["| `fmt` | a |"]), [0]);
        assert_eq!(found(&["| `fmt` | c |", "| `test` | b |"]), [4]);
        assert_eq!(found(&["| `test` | b |", "| `fmt` | a |"]), [4]);
        assert_eq!(found(&["| `fmt` | a |", "| `test` | b |", "| `old` | c |"]), [6]);
    }

    #[test]
    fn a_page_without_the_table_is_found() {
        assert_eq!(against(&Tree::of(&[]), &["| `fmt` | a |".to_owned()]).len(), 1);
    }
}
