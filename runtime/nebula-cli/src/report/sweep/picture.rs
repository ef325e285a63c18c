//! The picture in README: the demo's plot, drawn from the demo's table in docs/BENCHMARKS.md.
//!
//! Each run of the demo gives other figures, so a test checks that picture and table agree.

use std::path::PathBuf;

use nebula_workload::Latency;

use super::plot;
use crate::report::finding::{Design, Point, Sweep, Tail, tests};
use crate::report::plot::to_svg;
use nebula_ui::report::markup::escape;

const PICTURE: &str = "docs/images/demo.svg";
/// `cp target/tmp/demo.svg docs/images/demo.svg` accepts a new picture.
const DRAWN: &str = "target/tmp/demo.svg";

fn in_repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(in_repository(path)).unwrap_or_default()
}

fn sweep_of(page: &str) -> Sweep {
    let block = page.split("<!-- demo-table:begin -->").nth(1).and_then(|rest| rest.split("```").nth(1)).unwrap();
    let design = |name: &str| Design {
        name: name.to_owned(),
        what: String::new(),
        buffer_bytes: 0,
        points: block.lines().filter_map(|row| row.strip_prefix(name)).map(point).collect(),
    };
    let slo = block.lines().find_map(|line| line.strip_prefix("The SLO is ")).unwrap();
    let slo = slo.split_once(':').unwrap().0.parse().unwrap();
    let designs = vec![design("jbsq:2 with NACK"), design("jbsq:2 unbounded")];
    Sweep { slo, designs, ..tests::sweep() }
}

/// A row without its design. Cells are separated by two or more spaces.
fn point(row: &str) -> Point {
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let [load, offered, _, _, _, _, answered, _, kept] = cells[..] else { panic!("a row of nine cells: {row}") };
    let raw = Tail { p99_answered: latency(answered).finite(), ..tests::point(0.0, 0.0, 1).raw };
    let goodput = if kept == "yes" { 1.0 } else { 0.0 };
    Point { offered_rps: rate(offered), raw, goodput, ..tests::point(load.parse().unwrap(), 0.0, 1) }
}

fn latency(cell: &str) -> Latency {
    cell.parse().map_or(Latency::Infinite, Latency::Finite)
}

fn rate(cell: &str) -> f64 {
    let (digits, factor) = match cell.strip_suffix('k') {
        Some(digits) => (digits, 1e3),
        None => (cell.trim_end_matches('M'), 1e6),
    };
    digits.parse::<f64>().unwrap() * factor
}

fn words(page: &str) -> String {
    escape(&plot(&sweep_of(page)).chart.description)
}

#[test]
fn the_picture_is_of_the_rows_in_the_benchmarks() {
    let page = read("docs/BENCHMARKS.md");
    if !read(PICTURE).contains(&words(&page)) {
        let drawn = to_svg(&plot(&sweep_of(&page))).expect("a browser that draws the picture again");
        let new = in_repository(DRAWN);
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        std::fs::write(new, drawn).unwrap();
        panic!("{PICTURE} does not show the table in docs/BENCHMARKS.md: cp {DRAWN} {PICTURE}");
    }
}

#[test]
fn a_row_that_changes_changes_the_picture() {
    let page = read("docs/BENCHMARKS.md");
    let row = page.lines().rfind(|line| line.starts_with("jbsq:2 unbounded")).unwrap();
    let other = if row.contains(" ms ") { row.replace(" ms ", " s ") } else { row.replace(" s ", " ms ") };
    assert_ne!(words(&page), words(&page.replace(row, &other)));
}
