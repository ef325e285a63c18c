//! How many entries does the reassembler need? Packets of clients with separate links interleave.

use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Reassembler};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::{number, with_interval};
use crate::blocks::{self, Application, BlocksEstimate, Figures, Machine, Scenario};
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
use nebula_workload::Rate;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(lab, &lab.effort.of([lab.runs(20_000, 2), lab.runs(50_000, 4), lab.runs(80_000, 6)]))
}

pub(super) fn compare(lab: &Lab<'_>, runs: &Runs) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.reassembler;
    lab.expect(setup.clients_gbps.len(), 1);
    let found = try_each(&setup.clients_gbps, |&gbps| {
        let estimate = estimate(setup, gbps, runs)?;
        lab.progress.step();
        Ok::<_, ReproduceError>((gbps, estimate))
    })?;
    let mut rows = vec![judged(published(setup, &found))];
    rows.extend(found.iter().flat_map(|(gbps, estimate)| notes(*gbps, estimate)));
    Ok(rows.into())
}

/// NEBULA with the evaluation's mix, clients with such links, and an entry per slot.
fn estimate(setup: &Reassembler, client_gbps: f64, runs: &Runs) -> Result<BlocksEstimate, ReproduceError> {
    let evaluation = &paper::nebula().setup.evaluation;
    let mut machine = Machine::named(&evaluation.machine).expect("the machine ships with Nebula");
    machine.deployment.client_gbps = Some(client_gbps);
    let design = blocks::Design::named(paper::Design::Nebula.file()).expect("the design ships with Nebula");
    let store = Application::key_value(f64::from(evaluation.gets_percent) / 100.0, evaluation.value_bytes);
    let scenario = Scenario::new(machine, design, store);
    Ok(blocks::estimate(&scenario, Rate::try_new(1e9 / setup.gap_ns)?, runs, &|| ())?)
}

const MOST: fn(&Figures) -> f64 = |figures| figures.incomplete_max;

/// The published entries next to the need of clients as fast as the server, the first.
fn published(setup: &Reassembler, found: &[(f64, BlocksEstimate)]) -> Value {
    let needs = |(gbps, estimate): &(f64, BlocksEstimate)| {
        format!("{} with clients of {} Gbps", with_interval(estimate.over(MOST)), number(*gbps))
    };
    let why = format!(
        "at {} MRPS the reassembler has held at most {}",
        number(1e3 / setup.gap_ns),
        found.iter().map(needs).collect::<Vec<_>>().join(", ")
    );
    let value = found[0].1.over(MOST);
    Value { id: "nebula/reassembler/entries_max".to_owned(), value, why, unfitted: None }
}

fn notes(gbps: f64, estimate: &BlocksEstimate) -> [Row; 4] {
    let row = |short: &str, what: &str, unit: &str, figure: fn(&Figures) -> f64| {
        let id = format!("nebula/reassembler/clients-{gbps}/{short}");
        Row::note(id, format!("{what}, clients of {gbps} Gbps"), unit, estimate.over(figure))
    };
    [
        row("entries_mean", "mean entries of the reassembler in use", "entries", |figures| figures.incomplete_mean),
        row("entries_max", "most entries of the reassembler in use", "entries", MOST),
        row("nacked", "share of RPCs that are NACKed", "share", |figures| 1.0 - figures.accepted),
        row("p99_ns", "p99 of the RPCs served", "ns", |figures| figures.p99_ps / 1e3),
    ]
}
