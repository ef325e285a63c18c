//! The generated parts of docs/HARDWARE.md: tables, data and pictures that
//! hardware/synth/results.json alone determines.

use super::report::{Fpga, Mapped};
use super::result::{FILE, Results, Row, parsed};
use super::{picture, scale, verdict};
use nebula_shell::Failure;

/// The results, and the page, data and pictures made from them.
pub(crate) const FILES: [&str; 5] = [FILE, PAGE, DATA, PIPELINE, AREA];

const PAGE: &str = "docs/HARDWARE.md";
const DATA: &str = "docs/data/hardware.tsv";
const PIPELINE: &str = "docs/images/hardware-pipeline.svg";
const AREA: &str = "docs/images/hardware-area.svg";

type Expected = (&'static str, String);

/// The paths of generated files that differ from the results; `text` returns a file of the
/// repository.
pub(crate) fn stale<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Vec<&'static str>, Failure> {
    let differing = expected(&text)?.into_iter().filter(|(path, wanted)| text(path) != Some(wanted));
    Ok(differing.map(|(path, _)| path).collect())
}

pub(crate) fn expected<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Vec<Expected>, Failure> {
    let read = |path: &str| text(path).ok_or_else(|| Failure::new(format!("{path} is missing")));
    of_results(&parsed(read(FILE)?)?, read(PAGE)?)
}

fn of_results(results: &Results, page: &str) -> Result<Vec<Expected>, Failure> {
    let tables = [("tools", tools(results)), ("fpga", fpga(results)), ("verdicts", verdict::table(results))];
    let mut page = page.to_owned();
    for (name, table) in tables {
        page = with(&page, name, &table).ok_or_else(|| Failure::new(format!("{PAGE} has no lines for `{name}`")))?;
    }
    Ok(vec![(PAGE, page), (DATA, modules(results)), (PIPELINE, picture::pipeline()?), (AREA, picture::area(results)?)])
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

/// A line for each module, with tabs: gates, area, power, path and clock.
fn modules(results: &Results) -> String {
    let head = [
        "module",
        "cores",
        "cells",
        "gates",
        "flops",
        "memories",
        "memory bits",
        "area at 22 nm, mm²",
        "power at 22 nm and 2 GHz, mW",
        "bit vectors",
        "path at 180 nm, ns",
        "path at 22 nm, ns",
        "clock at 22 nm, GHz",
    ];
    let lines = std::iter::once(head.join("\t")).chain(results.rows.iter().map(module));
    lines.map(|line| line + "\n").collect()
}

fn module(row: &Row) -> String {
    let Mapped { cells, gates, flops, watts, memories, .. } = &row.mapped;
    let power = match scale::is_possible(*watts, *gates) {
        true => format!("{:.1}", scale::mw_at_22nm(*watts)),
        false => String::new(),
    };
    let bits = match (&row.as_flops, memories.is_empty()) {
        (Some(flops), _) => format!("in {} flops", flops.flops),
        (None, true) => String::new(),
        (None, false) => "separate: a lower bound".to_owned(),
    };
    let path = row.path_ns();
    [
        named(row).replace('`', ""),
        row.cores.to_string(),
        cells.to_string(),
        rounded(*gates).to_string(),
        flops.to_string(),
        memories.len().to_string(),
        row.mapped.memory_bits().to_string(),
        format!("{:.4}", scale::mm2_at_22nm(*gates)),
        power,
        bits,
        format!("{path:.2}"),
        format!("{:.2}", scale::ns_at_22nm(path)),
        format!("{:.2}", scale::ghz_at_22nm(path)),
    ]
    .join("\t")
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
        ["tools", "fpga", "verdicts"]
            .map(|name| format!("<!-- hardware-{name}:begin -->\n<!-- hardware-{name}:end -->\n"))
            .concat()
    }

    fn results() -> Results {
        Results { tools: vec!["yosys".to_owned()], rows: vec![row("jbsq", 64, 1234.4), row("jbsq", 256, 5000.0)] }
    }

    #[test]
    fn the_data_have_the_figures_of_the_results() {
        let data = &of_results(&results(), &page()).expect("all lines are there")[1].1;
        let line = data.lines().nth(1).expect("a module");
        assert!(line.starts_with("jbsq\t64\t10\t1234\t5\t1\t64\t"), "{line}");
        assert!(line.ends_with("\tseparate: a lower bound\t4.00\t0.50\t2.00"), "{line}");
        assert!(data.lines().all(|line| line.split('\t').count() == 13), "{data}");
    }

    #[test]
    fn data_or_a_page_changed_by_hand_are_stale() {
        let json = serde_json::to_string(&results()).expect("results are JSON");
        let files = of_results(&results(), &page()).expect("all lines are there");
        let find = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_str());
        let text = |path: &str| if path == FILE { Some(json.as_str()) } else { find(path) };
        assert!(stale(text).expect("it is read").is_empty());
        let by_hand = |changed: &'static str, from: &'static str, to: &'static str| {
            let other = find(changed).expect("a file").replace(from, to);
            stale(|path: &str| if path == changed { Some(other.as_str()) } else { text(path) }).expect("it is read")
        };
        assert_eq!(by_hand(DATA, "1234", "1111"), [DATA]);
        assert_eq!(by_hand(PAGE, "yosys", "another"), [PAGE]);
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
