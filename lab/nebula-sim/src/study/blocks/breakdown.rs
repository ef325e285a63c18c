//! Tables of the time of an RPC by stage and of DRAM traffic by part and cause.

use super::super::text::time;
use super::super::units;
use super::found::{Figures, Findings, Found};
use crate::blocks::{Part, Stage};
use nebula_memsys::Cause;
use nebula_ui::Row;

/// Title of the table of times.
pub const TIME: &str =
    "Where the time of an RPC went, from its first packet until its buffer is free: mean, and share of it";

/// Title of the table of traffic.
pub const TRAFFIC: &str = "Where each byte to and from DRAM went: blocks of 64 bytes for each RPC that came, and GB/s";

/// Names of the causes, in the order of [`Cause::ALL`].
pub const CAUSES: [&str; Cause::ALL.len()] = ["NIC fetch", "NIC write-back", "core fetch", "core write-back", "stream"];

/// Names of the causes in fields, in the order of [`Cause::ALL`].
pub(in super::super) const CAUSE_FIELDS: [&str; Cause::ALL.len()] =
    ["nic_fetch", "nic_write_back", "core_fetch", "core_write_back", "stream"];

/// The name of a stage in fields.
pub(in super::super) const fn stage_field(stage: Stage) -> &'static str {
    match stage {
        Stage::LookAhead => "look_ahead",
        stage => stage.name(),
    }
}

/// A row per design and rate, without stages that took no time.
#[must_use]
pub fn time_rows(findings: &Findings) -> Vec<Row> {
    let stages = stages(findings);
    let row = |(found, figures): (&Found, &Figures)| {
        let row = labeled(found).shown("mean", time(figures.outcome.mean.value));
        stages.iter().fold(row, |row, &(index, stage)| row.shown(stage.name(), of_mean(figures, index)))
    };
    findings.shown().map(row).collect()
}

/// Stages that took time, with their index in [`Stage::ALL`].
#[must_use]
pub fn stages(findings: &Findings) -> Vec<(usize, Stage)> {
    let took = |index: usize| findings.shown().any(|(_, figures)| figures.stages[index] > 0.0);
    Stage::ALL.into_iter().enumerate().filter(|&(index, _)| took(index)).collect()
}

/// Parts of memory with DRAM traffic, with their index in [`Part::ALL`].
#[must_use]
pub fn parts(findings: &Findings) -> Vec<(usize, Part)> {
    let moved = |index: usize| findings.shown().any(|(_, f)| f.blocks[index].iter().any(|&blocks| blocks > 0.0));
    Part::ALL.into_iter().enumerate().filter(|&(index, _)| moved(index)).collect()
}

/// Causes with DRAM traffic, as indices in [`Cause::ALL`].
#[must_use]
pub fn causes(findings: &Findings) -> Vec<usize> {
    let moved = |cause: usize| findings.shown().any(|(_, f)| f.blocks.iter().any(|part| part[cause] > 0.0));
    (0..Cause::ALL.len()).filter(|&cause| moved(cause)).collect()
}

/// A row per design, rate and part of memory with DRAM traffic, and one for the sum.
#[must_use]
pub fn traffic_rows(findings: &Findings) -> Vec<Row> {
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
    findings.shown().flat_map(of_point).collect()
}

fn labeled(found: &Found) -> Row {
    Row::new().word("design", found.design.as_str()).shown("rate", found.rate_rps.map_or("–".to_owned(), units::rate))
}

fn of_mean(figures: &Figures, stage: usize) -> String {
    let ns = figures.stages[stage];
    if ns == 0.0 {
        "–".to_owned()
    } else {
        format!("{} ({:.0} %)", time(ns), 100.0 * ns / figures.outcome.mean.value)
    }
}

fn two_digits(blocks: f64) -> String {
    if blocks == 0.0 { "–".to_owned() } else { format!("{blocks:.2}") }
}
