//! docs/data/benchmarks.tsv: rows of the sections that ran take the places of their former ones,
//! all others stay.

use super::{Measured, table};
use nebula_shell::{Failure, Shell, files};

const DATA: &str = "docs/data/benchmarks.tsv";

/// Writes what was measured into the data.
pub(super) fn bless(shell: &Shell, measured: &[Measured]) -> Result<(), Failure> {
    if measured.iter().any(is_on_threads) {
        return Err(Failure::new(
            "not written: while this ran, client and server were on two threads of one core, where rows say nothing of lines that cross \
             from core to core; run it again, or pin the two processors to cores",
        ));
    }
    let path = shell.root().join(DATA);
    let data = files::read(&path)?;
    files::write(&path, merged(&data, measured))?;
    println!("written to {DATA}; `cargo xtask tidy --bless` takes README's figures from there");
    Ok(())
}

/// Whether the bare ring's round trip says that both sides shared a core.
fn is_on_threads(measured: &Measured) -> bool {
    measured.rows.iter().any(|row| row.what.ends_with("on two threads of one core"))
}

fn merged(data: &str, measured: &[Measured]) -> String {
    let mut lines = data.lines().map(str::to_owned);
    let headings = lines.next().unwrap_or_default();
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        let name = line.split('\t').next().unwrap_or_default().to_owned();
        match sections.last_mut() {
            Some((last, rows)) if *last == name => rows.push(line),
            _ => sections.push((name, vec![line])),
        }
    }
    for new in measured {
        let rows = new.rows.iter().map(|row| table::cells(new.section, row).join("\t")).collect();
        match sections.iter_mut().find(|(name, _)| name == new.section) {
            Some((_, old)) => *old = rows,
            None => sections.push((new.section.to_owned(), rows)),
        }
    }
    let lines = std::iter::once(headings).chain(sections.into_iter().flat_map(|(_, rows)| rows));
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    const HEADINGS: &str = "section\twhat";

    fn measured(section: &'static str) -> Measured {
        Measured { section, rows: ["one", "two"].map(|what| Row::plain(what, 2.0, "ns")).into() }
    }

    #[test]
    fn what_was_measured_on_two_threads_of_one_core_is_not_written() {
        let mut measured = measured("echo");
        assert!(!is_on_threads(&measured));
        measured.rows[1].what = "bare ring, round trip p50, on two threads of one core".to_owned();
        assert!(is_on_threads(&measured));
    }

    /// The rows of [`measured`] under a section's name.
    fn new(section: &str) -> String {
        ["one", "two"].map(|what| format!("{section}\t{what}\t2.000\tns\t\t\t\n")).concat()
    }

    #[test]
    fn a_section_that_ran_replaces_its_rows_and_no_others() {
        let old = format!("{HEADINGS}\necho\ta\necho\tb\nkv\tc\n");
        assert_eq!(merged(&old, &[measured("echo")]), format!("{HEADINGS}\n{}kv\tc\n", new("echo")));
    }

    #[test]
    fn a_section_that_the_data_lack_comes_last() {
        let old = format!("{HEADINGS}\necho\ta\n");
        assert_eq!(merged(&old, &[measured("kv")]), format!("{old}{}", new("kv")));
    }
}
