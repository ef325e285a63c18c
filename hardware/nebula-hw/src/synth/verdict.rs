//! Compares the figures with those of the papers and with our goals: a verdict, or why there is
//! none.

use super::page::{rounded, thousands};
use super::result::{Results, Row};
use super::scale;

/// The quantity, its published value or goal, our value, the verdict.
type Line = [String; 4];

pub(super) fn table(results: &Results) -> String {
    let lines = [bits(results), cam_power(results), area(), period(results), growth(results)];
    let rows = lines.into_iter().flatten().map(|cells| format!("| {} |", cells.join(" | ")));
    let head = "| quantity | published, or goal | this RTL | verdict |\n|---|---|---|---|".to_owned();
    [head].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn line(cells: [&str; 4]) -> Line {
    cells.map(str::to_owned)
}

fn find<'a>(results: &'a Results, module: &str, cores: u32) -> Option<&'a Row> {
    results.rows.iter().find(|row| row.module == module && row.cores == cores)
}

/// The row with the most gates: the variant with the most entries.
fn largest<'a>(results: &'a Results, module: &str, cores: u32) -> Option<&'a Row> {
    let rows = results.rows.iter().filter(|row| row.module == module && row.cores == cores);
    rows.max_by(|one, other| one.mapped.gates.total_cmp(&other.mapped.gates))
}

/// The row with the shortest path: the variant with more stages.
fn fastest<'a>(results: &'a Results, module: &str, cores: u32) -> Option<&'a Row> {
    let rows = results.rows.iter().filter(|row| row.module == module && row.cores == cores);
    rows.min_by(|one, other| one.path_ns().total_cmp(&other.path_ns()))
}

/// Of the bit vector for 540 KB.
const BITVECTOR_BITS: u64 = 8_640;

fn bits(results: &Results) -> Option<Line> {
    let row = find(results, "recv_buffer", 64)?;
    let used: u64 = row.mapped.memories.iter().filter(|memory| memory.name.contains("used")).map(|m| m.bits()).sum();
    let all = row.mapped.memory_bits();
    let is_equal = used >= BITVECTOR_BITS && used - BITVECTOR_BITS <= BITVECTOR_BITS / 20;
    Some(line([
        "bit vector of 540 KB, 64 cores",
        "8,640 bits (NEBULA §V-C)",
        &format!("{}; {} with ends and holders of RPCs", thousands(used), thousands(all)),
        if is_equal { "equal, except at the end" } else { "**differs**" },
    ]))
}

fn cam_power(results: &Results) -> Option<Line> {
    let row = largest(results, "reassembler", 64)?;
    Some(line([
        "CAM of 540 entries, 2 GHz, 22 nm",
        "45.3 mW (§V-D, CACTI)",
        &format!(
            "{}: {} gates, {} flops, {:.1} mW",
            row.what,
            thousands(rounded(row.mapped.gates)),
            thousands(row.mapped.flops),
            scale::mw_at_22nm(row.mapped.watts)
        ),
        "none: see below",
    ]))
}

fn area() -> Option<Line> {
    Some(line(["area of the NIC's additions", "–", "data/hardware.tsv", "none"]))
}

fn period(results: &Results) -> Option<Line> {
    let row = fastest(results, "backend", 64)?;
    let (ns, clock) = (scale::ns_at_22nm(row.path_ns()), scale::ghz_at_22nm(row.path_ns()));
    let is_met = clock >= scale::GOAL_GHZ;
    Some(line([
        "a 64 B packet at 1 Tbps",
        "0.5 ns: 2 GHz (§V-D)",
        &format!("{ns:.2} ns, {clock:.2} GHz, at 64 cores"),
        if is_met { "met, by a rule of thumb" } else { "**not met**" },
    ]))
}

/// From 64 to 256 cores.
const GROWTH_MAX: f64 = 4.2;

fn growth(results: &Results) -> Option<Line> {
    let cells = |cores| Some(find(results, "jbsq", cores)?.mapped.cells);
    let (few, many) = (cells(64)?, cells(256)?);
    #[expect(clippy::cast_precision_loss, reason = "cells are far below 2^53")]
    let ratio = many as f64 / few as f64;
    Some(line([
        "JBSQ from 64 to 256 cores",
        &format!("{GROWTH_MAX} × the cells (goal)"),
        &format!("{} to {}: {ratio:.2} ×", thousands(few), thousands(many)),
        if ratio <= GROWTH_MAX { "met" } else { "**not met**" },
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::result::tests::row;

    fn results(cells: u64) -> Results {
        let (few, mut many) = (row("jbsq", 64, 1.0), row("jbsq", 256, 1.0));
        many.mapped.cells = cells;
        Results { tools: Vec::new(), rows: vec![few, many] }
    }

    #[test]
    fn jbsq_that_grows_faster_than_the_cores_is_said_so() {
        assert!(table(&results(41)).contains("4.10 × | met |"));
        assert!(table(&results(43)).contains("4.30 × | **not met** |"));
    }

    #[test]
    fn the_variant_with_the_shortest_path_is_judged() {
        let (mut slow, fast) = (row("backend", 64, 1.0), row("backend", 64, 1.0));
        slow.mapped.path_ns = 8.0;
        let rows = vec![slow.clone(), fast];
        assert!(table(&Results { tools: Vec::new(), rows }).contains("2.00 GHz, at 64 cores | met"));
        assert!(table(&Results { tools: Vec::new(), rows: vec![slow] }).contains("**not met**"));
    }

    #[test]
    fn the_reassembler_with_the_most_entries_is_beside_the_papers() {
        let (mut few, mut many) = (row("reassembler", 64, 10.0), row("reassembler", 64, 70.0));
        (few.what, many.what) = ("16 entries".to_owned(), "64 entries".to_owned());
        let table = table(&Results { tools: Vec::new(), rows: vec![many, few] });
        assert!(table.contains("64 entries: 70 gates") && !table.contains("16 entries"), "{table}");
    }

    #[test]
    fn what_was_not_mapped_has_no_line() {
        assert_eq!(table(&Results::default()).lines().count(), 3);
    }
}
