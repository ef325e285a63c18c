//! The table in docs/BENCHMARKS.md: rows of the sections that ran take the places of their former ones, all others stay.

use super::{Measured, table};
use crate::shell::{Attempt, Failure, Shell};

const PAGE: &str = "docs/BENCHMARKS.md";
const BEGIN: &str = "<!-- bench-table:begin -->";
const END: &str = "<!-- bench-table:end -->";

/// Writes what was measured into the page.
pub(super) fn bless(shell: &Shell, measured: &[Measured]) -> Result<(), Failure> {
    if measured.iter().any(is_on_threads) {
        return Err(Failure::new(
            "not written: while this ran, client and server were on two threads of one core, where rows say nothing of lines that cross \
             from core to core; run it again, or pin the two processors to cores",
        ));
    }
    let path = shell.root().join(PAGE);
    let page = std::fs::read_to_string(&path).attempt(format!("read {PAGE}"))?;
    let page = merged(&page, measured).ok_or_else(|| Failure::new(format!("{PAGE} has no lines {BEGIN} and {END}")))?;
    std::fs::write(&path, page).attempt(format!("write {PAGE}"))?;
    println!("written to {PAGE}; `cargo xtask tidy --bless` takes README's figures from there");
    Ok(())
}

/// Whether the bare ring's round trip says that both sides shared a core.
fn is_on_threads(measured: &Measured) -> bool {
    measured.rows.iter().any(|row| row.what.ends_with("on two threads of one core"))
}

fn merged(page: &str, measured: &[Measured]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (old, after) = rest.split_once(END)?;
    let mut lines = old.lines().filter(|line| line.starts_with('|'));
    let (headings, rule) = (lines.next()?, lines.next()?);
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        let name = line.split('|').nth(1).unwrap_or_default().trim();
        if !name.is_empty() {
            sections.push((name.to_owned(), Vec::new()));
        }
        sections.last_mut()?.1.push(line.to_owned());
    }
    for new in measured {
        let rows = rows(new);
        match sections.iter_mut().find(|(name, _)| name == new.section) {
            Some((_, old)) => *old = rows,
            None => sections.push((new.section.to_owned(), rows)),
        }
    }
    let rows: Vec<String> = sections.into_iter().flat_map(|(_, rows)| rows).collect();
    Some(format!("{before}{BEGIN}\n\n{headings}\n{rule}\n{}\n\n{END}{after}", rows.join("\n")))
}

fn rows(section: &Measured) -> Vec<String> {
    let name = |index| if index == 0 { section.section } else { "" };
    let rows = section.rows.iter().enumerate();
    rows.map(|(index, row)| format!("| {} |", table::cells(name(index), row).join(" | "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Row;

    fn page(rows: &str) -> String {
        format!("# B\n{BEGIN}\n\n| section | what |\n|---|---|\n{rows}\n\n{END}\nThen.\n")
    }

    fn measured(section: &'static str) -> Measured {
        let row = |what: &str| Row { what: what.to_owned(), value: 2.0, unit: "ns".to_owned(), against: None };
        Measured { section, rows: vec![row("one"), row("two")] }
    }

    #[test]
    fn what_was_measured_on_two_threads_of_one_core_is_not_written() {
        let mut measured = measured("echo");
        assert!(!is_on_threads(&measured));
        measured.rows[1].what = "bare ring, round trip p50, on two threads of one core".to_owned();
        assert!(is_on_threads(&measured));
    }

    const NEW: &str = "one | 2.000 | ns |  |  |  |\n|  | two | 2.000 | ns |  |  |  |";

    #[test]
    fn a_section_that_ran_replaces_its_rows_and_no_others() {
        let old = page("| echo | a |\n|  | b |\n| kv | c |");
        assert_eq!(merged(&old, &[measured("echo")]), Some(page(&format!("| echo | {NEW}\n| kv | c |"))));
    }

    #[test]
    fn a_section_that_the_page_lacks_comes_last() {
        let old = page("| echo | a |");
        assert_eq!(merged(&old, &[measured("kv")]), Some(page(&format!("| echo | a |\n| kv | {NEW}"))));
    }

    #[test]
    fn a_page_without_the_table_is_not_written() {
        assert_eq!(merged("# B\n", &[measured("kv")]), None);
    }
}
