//! README stays short, and its first screen fits a screen. A table of figures names the command
//! that prints them: "measured with" and the command.

use super::Violation;
use super::columns::COLUMNS;
use super::tree::Tree;

const README: &str = "README.md";
/// The pages with tables of measurements. Generated data name their command in their page.
const MEASURED: &[&str] = &[README, "docs/BENCHMARKS.md", "docs/LABORATORY.md"];
const PHRASE: &str = "measured with `";

/// As much as a reader reads before deciding to go on.
const BYTES: std::ops::RangeInclusive<usize> = 9_000..=11_000;
/// Lines of at most 100 columns up to the end of the section "Try it", and behind it. A longer line
/// counts as several.
const FIRST_SCREEN: usize = 45;
const BEHIND_IT: usize = 140;
const LAST_ON_SCREEN: &str = "## Try it";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(readme) = tree.text(README) else { return vec![Violation::new(README, 0, "is missing")] };
    let pages = MEASURED.iter().filter_map(|&page| Some((page, tree.text(page)?)));
    pages.flat_map(|(page, text)| unmeasured(page, text)).chain(length(readme)).chain(screens(readme)).collect()
}

/// Tables of numbers in sections that name no command.
fn unmeasured(page: &str, text: &str) -> Vec<Violation> {
    let unnamed = sections(text).into_iter().filter(|section| !section.has_command);
    let lines = unnamed.filter_map(|section| section.number_row);
    let what = format!("a table of numbers in a section that does not say \"{PHRASE}COMMAND`\"");
    lines.map(|line| Violation::new(page, line, what.clone())).collect()
}

fn length(readme: &str) -> Option<Violation> {
    let (bytes, least, most) = (readme.len(), BYTES.start(), BYTES.end());
    let what = || format!("has {bytes} bytes, not {least} to {most}: move what a newcomer does not need to docs/");
    (!BYTES.contains(&bytes)).then(|| Violation::new(README, 0, what()))
}

fn screens(readme: &str) -> Vec<Violation> {
    let lines: Vec<&str> = readme.lines().collect();
    let Some(last) = lines.iter().position(|&line| line == LAST_ON_SCREEN) else {
        return vec![Violation::new(README, 0, format!("has no section `{LAST_ON_SCREEN}`"))];
    };
    let behind = lines[last + 1..].iter().position(|line| line.starts_with("## "));
    let end = behind.map_or(lines.len(), |after| last + 1 + after);
    let too_long = |what: &str, lines: &[&str], most: usize| {
        let got: usize = lines.iter().map(|line| height(line)).sum();
        (got > most).then(|| Violation::new(README, 0, format!("{what} has {got} lines, more than {most}")))
    };
    let first = too_long("the first screen", &lines[..end], FIRST_SCREEN);
    first.into_iter().chain(too_long("the part behind the first screen", &lines[end..], BEHIND_IT)).collect()
}

fn height(line: &str) -> usize {
    line.chars().count().div_ceil(COLUMNS).max(1)
}

#[derive(Default)]
struct Section {
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

/// A table row with a measured number: a cell that begins with a digit, perhaps after "~", "<",
/// ">", "≤" or "≥".
fn is_number_row(line: &str) -> bool {
    let Some(row) = line.trim().strip_prefix('|') else { return false };
    let numbers = row.split('|').map(|cell| cell.trim().trim_start_matches(['~', '<', '>', '≤', '≥', '*', ' ']));
    numbers.skip(1).any(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCHMARKS: &str = "docs/BENCHMARKS.md";

    fn found(text: &str) -> Vec<usize> {
        unmeasured(BENCHMARKS, text).iter().map(|violation| violation.line).collect()
    }

    /// A README of lines of 80 bytes, `first` of them on the first screen and `behind` after it.
    fn readme(first: usize, behind: usize) -> String {
        let line = |count: usize| format!("{}\n", "x".repeat(79)).repeat(count);
        format!("{}{LAST_ON_SCREEN}\n## Then\n{}", line(first - 1), line(behind - 1))
    }

    fn said(readme: &str) -> String {
        check(&Tree::of(&[(README, readme)])).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn numbers_without_a_command_are_found() {
        assert_eq!(found("# A\n| what | M/s |\n|---|---|\n| echo | 12.4 |\n# B\nmeasured with `cargo`\n"), [4]);
        let page = "| what | M/s |\n| echo | 12.4 |\n";
        let tree = Tree::of(&[(README, &readme(45, 80)), (BENCHMARKS, page)]);
        assert_eq!(check(&tree).len(), 1, "on every page that is listed");
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

    #[test]
    fn a_readme_within_its_bounds_passes() {
        assert_eq!(said(&readme(FIRST_SCREEN, 80)), "");
    }

    #[test]
    fn a_readme_that_is_too_short_or_too_long_is_found() {
        assert!(said(&readme(20, 20)).contains("bytes, not 9000 to 11000"));
        assert!(said(&readme(40, 110)).contains("bytes, not 9000 to 11000"));
    }

    #[test]
    fn a_long_first_screen_and_a_long_rest_are_found() {
        assert!(said(&readme(FIRST_SCREEN + 1, 80)).contains("the first screen has 46 lines"));
        assert!(said(&readme(10, BEHIND_IT + 1)).contains("behind the first screen has 141 lines"));
        let joined = readme(FIRST_SCREEN + 1, 80).replacen("xx\nxx", "xx xx", 3);
        assert!(said(&joined).contains("the first screen has 46 lines"), "lines that were joined count as before");
        assert!(said(&"x\n".repeat(5000)).contains("has no section"));
    }
}
