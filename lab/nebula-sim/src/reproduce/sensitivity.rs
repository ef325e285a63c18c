//! How much do the block level's assumptions matter? Each number of the machine is halved and
//! doubled, and mechanisms left out are added.
//!
//! The rows are the rate at the SLO, the service time and the DRAM traffic, through which most
//! assumptions change the rate. The compute time is not recalibrated, so a row shows one change's
//! effect. The SLO is a multiple of the service time.

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use crate::blocks::{self, Application, Design, Machine, Scenario};
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
use crate::interval::Interval;
use crate::search::Bracket;
use nebula_workload::Rate;

const MACHINE: &str = "isca20";

/// Numbers that no paper gives, and published ones that differ on other machines.
const KEYS: [&str; 28] = [
    "memory.l1.bytes",
    "memory.llc.bytes",
    "memory.llc.latency_cycles",
    "memory.llc.nic_cache_cycles",
    "memory.mesh.hop_cycles",
    "memory.mesh.link_bytes",
    "memory.dram.gb_per_s",
    "memory.dram.ranks",
    "memory.dram.banks",
    "memory.dram.row_bytes",
    "memory.dram.path_ns",
    "memory.dram.ras_ns",
    "memory.dram.row_idle_ns",
    "memory.dram.refresh_ns",
    "memory.dram.write_batch",
    "memory.dram.turnaround_ns",
    "nic.link_gbps",
    "nic.notify_ns",
    "nic.dispatch_ns",
    "nic.free_ns",
    "core.compute_ns",
    "core.load_window",
    "core.issue_ns",
    "core.stores_max",
    "core.software_prefetch_ns",
    "deployment.receive_buffer_bytes",
    "deployment.send_pool_bytes",
    "deployment.slot_metadata_blocks",
];

/// Contention that a machine must switch on.
const SWITCHES: [&str; 2] = ["ports_contend", "links_contend"];

/// One design with slots per connection, and one with a shared buffer.
const DESIGNS: [&str; 2] = ["rpcvalet", "nebula-base"];

struct Variant {
    id: String,
    what: String,
    machine: Machine,
}

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let variants = variants()?;
    lab.expect(variants.len() * DESIGNS.len(), 1);
    let rows: Vec<Vec<Row>> = try_each(&variants, |variant| rows_of(lab, variant))?;
    Ok(rows.into_iter().flatten().collect::<Vec<_>>().into())
}

fn variants() -> Result<Vec<Variant>, ReproduceError> {
    let text = Machine::source(MACHINE).unwrap_or_default();
    let shipped =
        Variant { id: "as-shipped".to_owned(), what: "as shipped".to_owned(), machine: Machine::parse(text)? };
    let mut variants = vec![shipped];
    for key in KEYS {
        let value = Machine::number(text, key)?;
        for (name, factor) in [("half", 0.5), ("double", 2.0)] {
            // Half of one block or way is taken as zero.
            let other = value * factor;
            let other = if value == 1.0 && factor < 1.0 { 0.0 } else { other };
            match Machine::parse_with(text, &[(key, other)]) {
                Ok(machine) => variants.push(Variant {
                    id: format!("{key}/{name}"),
                    what: format!("{key} = {other} instead of {value}"),
                    machine,
                }),
                // The changed machine is invalid: its batch is longer than its queue, for example.
                Err(error) => return Err(error.into()),
            }
        }
    }
    for switch in SWITCHES {
        variants.push(switched_on(text, switch)?);
    }
    Ok(variants)
}

fn switched_on(text: &str, switch: &str) -> Result<Variant, ReproduceError> {
    let mesh = toml::Table::from_iter([(switch.to_owned(), true.into())]);
    let memory = toml::Table::from_iter([("mesh".to_owned(), mesh.into())]);
    let changes = toml::Table::from_iter([("memory".to_owned(), memory.into())]);
    let what = format!("memory.mesh.{switch} = true");
    Ok(Variant { id: format!("memory.mesh.{switch}"), what, machine: Machine::parse_over(text, &changes)? })
}

fn rows_of(lab: &Lab<'_>, variant: &Variant) -> Result<Vec<Row>, ReproduceError> {
    let scenario = |design: &str| -> Option<Scenario> {
        Some(Scenario::new(variant.machine.clone(), Design::named(design)?, Application::named("kvs")?))
    };
    let runs = lab.effort.of([lab.runs(15_000, 2), lab.runs(40_000, 4), lab.runs(100_000, 6)]);
    let mut rows = Vec::new();
    for design in DESIGNS {
        let Some(scenario) = scenario(design) else { continue };
        rows.push(highest(lab, variant, &scenario, &runs)?);
        rows.extend(below_saturation(variant, &scenario, &runs)?);
        lab.progress.step();
    }
    Ok(rows)
}

fn highest(lab: &Lab<'_>, variant: &Variant, scenario: &Scenario, runs: &Runs) -> Result<Row, ReproduceError> {
    let slo = scenario.slo(10.0, lab.seed)?;
    // From a third of the rate at which all cores are busy, up to that rate.
    let capacity_rps = 10.0 * f64::from(scenario.machine.memory.cores) / slo.as_secs_f64();
    let width = capacity_rps / lab.effort.of([64.0, 128.0, 256.0]);
    let bracket = Bracket { lowest: capacity_rps / 3.0, highest: capacity_rps, width };
    let rate = match blocks::rate_at_slo(scenario, slo, bracket, runs, &|| ()) {
        Ok(found) => found.rate_rps.scaled(1e-6),
        Err(blocks::BlocksError::Slo { .. }) => Interval::exact(0.0),
        Err(error) => return Err(error.into()),
    };
    Ok(note(variant, scenario, "throughput under SLO", "mrps", "MRPS", rate))
}

fn below_saturation(variant: &Variant, scenario: &Scenario, runs: &Runs) -> Result<[Row; 2], ReproduceError> {
    /// Two thirds of the lowest rate at which a design saturates.
    const RATE_RPS: f64 = 8e6;
    let shown = blocks::estimate(scenario, Rate::try_new(RATE_RPS)?, runs, &|| ())?;
    let service = shown.over(|figures| figures.service_mean_ps).scaled(1e-3);
    let blocks = shown.dram_gb_per_s().scaled(1e9 / 64.0 / RATE_RPS);
    Ok([
        note(variant, scenario, "mean service time at 8 MRPS", "service_ns", "ns", service),
        note(variant, scenario, "blocks to and from DRAM an RPC at 8 MRPS", "blocks", "blocks", blocks),
    ])
}

fn note(variant: &Variant, scenario: &Scenario, what: &str, short: &str, unit: &str, ours: Interval) -> Row {
    let Variant { id, what: changed, .. } = variant;
    let design = &scenario.design.name;
    Row::note(format!("nebula/sensitivity/{id}/{design}/{short}"), format!("{design}, {changed}: {what}"), unit, ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `nebula reproduce nebula/sensitivity --effort quick --format json`.
    const ROWS: &str = include_str!("../../data/golden/sensitivity-quick.json");

    #[test]
    fn the_rows_in_the_tree_are_of_the_machine_and_its_variants() {
        let mut lines = ROWS.lines();
        for Variant { id, what, .. } in variants().unwrap() {
            for design in DESIGNS {
                for value in ["mrps", "service_ns", "blocks"] {
                    let name = format!(r#""id":"nebula/sensitivity/{id}/{design}/{value}","what":"{design}, {what}: "#);
                    let line = lines.next().unwrap_or_default();
                    assert!(line.contains(&name), "make the rows again: {name} is not in {line}");
                }
            }
        }
        assert_eq!(lines.next(), None);
    }
}
