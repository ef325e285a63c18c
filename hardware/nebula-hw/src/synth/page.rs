//! The generated parts of docs/HARDWARE.md: tables and pictures that hardware/synth/results.json alone determines.

use super::report::{Fpga, Mapped};
use super::result::{FILE, Results, Row, parsed};
use super::{picture, scale, verdict};
use nebula_shell::Failure;

/// The results, the page made of them, and its pictures.
pub(crate) const FILES: [&str; 4] = [FILE, PAGE, PIPELINE, AREA];

const PAGE: &str = "docs/HARDWARE.md";
const PIPELINE: &str = "docs/images/hardware-pipeline.svg";
const AREA: &str = "docs/images/hardware-area.svg";

/// A file and what it is to hold.
type Expected = (&'static str, String);

/// The generated files that differ from what the results say, by path; `text` gives a file of the repository.
pub(crate) fn stale<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Vec<&'static str>, Failure> {
    let differing = expected(&text)?.into_iter().filter(|(path, wanted)| text(path) != Some(wanted));
    Ok(differing.map(|(path, _)| path).collect())
}

/// The generated files as they are to be.
pub(crate) fn expected<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Vec<Expected>, Failure> {
    let read = |path: &str| text(path).ok_or_else(|| Failure::new(format!("{path} is missing")));
    of_results(&parsed(read(FILE)?)?, read(PAGE)?)
}

fn of_results(results: &Results, page: &str) -> Result<Vec<Expected>, Failure> {
    let tables = [
        ("tools", tools(results)),
        ("area", area(results)),
        ("clock", clock(results)),
        ("fpga", fpga(results)),
        ("verdicts", verdict::table(results)),
    ];
    let mut page = page.to_owned();
    for (name, table) in tables {
        page = with(&page, name, &table).ok_or_else(|| Failure::new(format!("{PAGE} has no lines for `{name}`")))?;
    }
    Ok(vec![(PAGE, page), (PIPELINE, picture::pipeline()?), (AREA, picture::area(results)?)])
}

/// The page with a table between its two lines.
fn with(page: &str, name: &str, table: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- hardware-{name}:begin -->"), format!("<!-- hardware-{name}:end -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", table.trim_end()))
}

fn tools(results: &Results) -> String {
    format!("Made with {}.", results.tools.join(" and "))
}

fn area(results: &Results) -> String {
    let head = "| module | cores | cells | gates | flops | memories, bits | area at 22 nm, mm² | power at 22 nm and 2 GHz, mW |\n\
                |---|--:|--:|--:|--:|--:|--:|--:|";
    let row = |row: &Row| {
        let Mapped { cells, gates, flops, watts, .. } = &row.mapped;
        let memories = match (row.mapped.memories.len(), row.mapped.memory_bits()) {
            (0, _) => "–".to_owned(),
            (count, bits) => format!("{count}, {}", thousands(bits)),
        };
        let power = match scale::is_possible(*watts, *gates) {
            true => format!("{:.1}", scale::mw_at_22nm(*watts)),
            false => "–".to_owned(),
        };
        format!(
            "| {} | {} | {} | {} | {} | {memories} | {:.4} | {power} |",
            named(row),
            row.cores,
            thousands(*cells),
            thousands(rounded(*gates)),
            thousands(*flops),
            scale::mm2_at_22nm(*gates),
        )
    };
    table(head, results.rows.iter().map(row))
}

fn clock(results: &Results) -> String {
    let head = "| module | cores | bit vectors | path at 180 nm, ns | path at 22 nm, ns | clock at 22 nm, GHz |\n|---|--:|---|--:|--:|--:|";
    let row = |row: &Row| {
        let bits = match (&row.as_flops, row.mapped.memories.is_empty()) {
            (Some(flops), _) => format!("in {} flops", thousands(flops.flops)),
            (None, true) => "–".to_owned(),
            (None, false) => "apart: a bound from below".to_owned(),
        };
        let path = row.path_ns();
        format!(
            "| {} | {} | {bits} | {path:.2} | {:.2} | {:.2} |",
            named(row),
            row.cores,
            scale::ns_at_22nm(path),
            scale::ghz_at_22nm(path)
        )
    };
    table(head, results.rows.iter().map(row))
}

fn fpga(results: &Results) -> String {
    let head = "| module | cores | LUT4 | carry cells | flops | 16 × 4 memories | 18 kb memories |\n|---|--:|--:|--:|--:|--:|--:|";
    let row = |row: &Row| {
        let Fpga { lut4, carries, flops, dpr16x4, dp16kd } = row.fpga.as_ref()?;
        let counts = [lut4, carries, flops, dpr16x4, dp16kd].map(|count| thousands(*count)).join(" | ");
        Some(format!("| {} | {} | {counts} |", named(row), row.cores))
    };
    table(head, results.rows.iter().filter_map(row))
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    [head.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn named(row: &Row) -> String {
    if row.what.is_empty() { format!("`{}`", row.module) } else { format!("`{}`, {}", row.module, row.what) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "gates are far below 2^53 and not negative"
)]
pub(super) fn rounded(gates: f64) -> u64 {
    gates.round() as u64
}

/// A number with a comma between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::result::tests::row;

    fn page() -> String {
        ["tools", "area", "clock", "fpga", "verdicts"]
            .map(|name| format!("<!-- hardware-{name}:begin -->\n<!-- hardware-{name}:end -->\n"))
            .concat()
    }

    fn results() -> Results {
        Results { tools: vec!["yosys".to_owned()], rows: vec![row("jbsq", 64, 1234.4), row("jbsq", 256, 5000.0)] }
    }

    #[test]
    fn the_page_has_the_figures_of_the_results() {
        let page = &of_results(&results(), &page()).expect("all lines are there")[0].1;
        assert!(page.contains("| `jbsq` | 64 | 10 | 1,234 | 5 | 1, 64 |"), "{page}");
        assert!(page.contains("| `jbsq` | 64 | apart: a bound from below | 4.00 | 0.50 | 2.00 |"), "{page}");
    }

    #[test]
    fn a_page_that_was_changed_by_hand_is_stale() {
        let json = serde_json::to_string(&results()).expect("results are JSON");
        let files = of_results(&results(), &page()).expect("all lines are there");
        let find = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_str());
        let text = |path: &str| if path == FILE { Some(json.as_str()) } else { find(path) };
        assert!(stale(text).expect("it is read").is_empty());
        let changed = files[0].1.replace("1,234", "1,111");
        let by_hand = |path: &str| if path == PAGE { Some(changed.as_str()) } else { text(path) };
        assert_eq!(stale(by_hand).expect("it is read"), [PAGE]);
    }

    #[test]
    fn missing_files_and_results_that_are_no_json_are_errors() {
        assert!(stale(|_| None).is_err());
        let only = |file: &'static str| move |path: &str| (path == file).then_some(r#"{"tools": [], "rows": []}"#);
        assert!(stale(only(FILE)).expect_err("no page").to_string().contains("is missing"));
        assert!(stale(|_| Some("{")).is_err());
    }

    #[test]
    fn a_page_without_the_lines_of_a_table_is_an_error() {
        assert!(of_results(&results(), "# H\n").is_err());
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
    }
}
