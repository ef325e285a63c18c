//! Where the time of an RPC and each byte of DRAM traffic went, as tables.

use nebula_memsys::Cause;
use nebula_sim::blocks::{Part, Stage};

use super::measure::{Figures, Findings, Found};
use crate::output::interval::time;
use crate::output::{Row, units};

/// Above the table of the time.
pub(crate) const TIME: &str =
    "Where the time of an RPC went, from its first packet until its buffer is free: mean, and share of it";

/// Above the table of the traffic.
pub(crate) const TRAFFIC: &str =
    "Where each byte to and from DRAM went: blocks of 64 bytes for each RPC that came, and GB/s";

/// Names of the causes, in the order of [`Cause::ALL`].
pub(crate) const CAUSES: [&str; Cause::ALL.len()] =
    ["NIC fetch", "NIC write-back", "core fetch", "core write-back", "stream"];

/// A row each design and rate; stages in which no RPC spent any time are left out.
pub(crate) fn time_rows(findings: &Findings) -> Vec<Row> {
    let stages = stages(findings);
    let row = |(found, figures): (&Found, &Figures)| {
        let row = labeled(found).shown("mean", time(figures.mean));
        stages.iter().fold(row, |row, &(index, stage)| row.shown(stage.name(), of_mean(figures, index)))
    };
    shown(findings).map(row).collect()
}

/// Stages in which some RPC spent time, with their place in [`Stage::ALL`].
pub(crate) fn stages(findings: &Findings) -> Vec<(usize, Stage)> {
    let took = |index: usize| shown(findings).any(|(_, figures)| figures.stages[index] > 0.0);
    Stage::ALL.into_iter().enumerate().filter(|&(index, _)| took(index)).collect()
}

/// Parts of memory that some RPC moved blocks of, with their place in [`Part::ALL`].
pub(crate) fn parts(findings: &Findings) -> Vec<(usize, Part)> {
    let moved = |index: usize| shown(findings).any(|(_, f)| f.blocks[index].iter().any(|&blocks| blocks > 0.0));
    Part::ALL.into_iter().enumerate().filter(|&(index, _)| moved(index)).collect()
}

/// Causes that some block moved for, as places in [`Cause::ALL`].
pub(crate) fn causes(findings: &Findings) -> Vec<usize> {
    let moved = |cause: usize| shown(findings).any(|(_, f)| f.blocks.iter().any(|part| part[cause] > 0.0));
    (0..Cause::ALL.len()).filter(|&cause| moved(cause)).collect()
}

/// For each design and rate a row each part of memory that it moved blocks of, and one of all.
pub(crate) fn traffic_rows(findings: &Findings) -> Vec<Row> {
    let (parts, causes) = (parts(findings), causes(findings));
    let of_point = |(found, figures): (&Found, &Figures)| {
        let gb_per_s = figures.gb_per_s_of_block();
        let row = |name: &str, blocks: &dyn Fn(usize) -> f64| {
            let all = (0..Cause::ALL.len()).map(blocks).sum::<f64>();
            let row = labeled(found).word("part", name);
            let row = causes.iter().fold(row, |row, &cause| row.shown(CAUSES[cause], two_digits(blocks(cause))));
            row.shown("blocks/RPC", two_digits(all)).shown("GB/s", two_digits(all * gb_per_s))
        };
        let of_part = |&(index, part): &(usize, Part)| {
            let is_moved = figures.blocks[index].iter().any(|&blocks| blocks > 0.0);
            is_moved.then(|| row(part.name(), &|cause| figures.blocks[index][cause]))
        };
        let all = row("all", &|cause| figures.blocks.iter().map(|part| part[cause]).sum());
        parts.iter().filter_map(of_part).chain([all]).collect::<Vec<Row>>()
    };
    shown(findings).flat_map(of_point).collect()
}

/// What has shown figures.
pub(crate) fn shown(findings: &Findings) -> impl Iterator<Item = (&Found, &Figures)> {
    findings.found.iter().filter_map(|found| Some((found, found.figures.as_ref()?)))
}

fn labeled(found: &Found) -> Row {
    Row::new().word("design", found.design.as_str()).shown("rate", found.rate_rps.map_or("–".to_owned(), units::rate))
}

/// A stage's time, and its share.
fn of_mean(figures: &Figures, stage: usize) -> String {
    let ns = figures.stages[stage];
    if ns == 0.0 { "–".to_owned() } else { format!("{} ({:.0} %)", time(ns), 100.0 * ns / figures.mean) }
}

/// A number that may be nothing: `–`.
fn two_digits(blocks: f64) -> String {
    if blocks == 0.0 { "–".to_owned() } else { format!("{blocks:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::blocks::tests::findings;

    #[test]
    fn the_time_has_a_column_each_stage_that_took_any() {
        let rows = time_rows(&findings(false));
        assert_eq!(rows.len(), 4);
        let headings = rows[0].headings();
        assert!(headings.contains(&"queue".to_owned()) && !headings.contains(&"state".to_owned()), "{headings:?}");
        assert_eq!(rows[0].cells()[..4], ["<rss>", "5M", "800 ns", "40 ns (5 %)"]);
    }

    #[test]
    fn the_traffic_has_a_row_each_part_and_their_sum() {
        let rows = traffic_rows(&findings(false));
        assert_eq!(rows.len(), 4 * 7, "six parts of seven moved, and all of them");
        assert_eq!(rows[0].headings()[3..7], CAUSES[..4]);
        assert_eq!(rows[0].cells()[2..], ["payload", "1.00", "2.00", "3.00", "4.00", "10.00", "1.83"]);
        assert_eq!(rows[6].cells()[2..], ["all", "6.00", "12.00", "18.00", "24.00", "60.00", "11.00"]);
    }

    #[test]
    fn what_keeps_the_slo_at_no_rate_has_no_rows() {
        let mut findings = findings(true);
        findings.found.iter_mut().for_each(|found| found.figures = None);
        assert!(time_rows(&findings).is_empty() && traffic_rows(&findings).is_empty());
    }
}
