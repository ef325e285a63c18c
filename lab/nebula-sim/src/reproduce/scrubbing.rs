//! What is scrubbing worth? It finds room in the receive buffer behind a long RPC at its tail.

use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Scrubbing};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::{number, with_interval};
use crate::blocks::{self, Application, BlocksError, BlocksEstimate, Figures, Machine, NetworkFunction, Scenario};
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
use crate::interval::Interval;
use nebula_nic::ScrubMode;
use nebula_workload::Rate;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(lab, &lab.effort.of([lab.runs(40_000, 2), lab.runs(100_000, 4), lab.runs(200_000, 6)]))
}

/// The paper's way first.
const MODES: [ScrubMode; 4] = [ScrubMode::AfterNack, ScrubMode::OnFull, ScrubMode::Ahead, ScrubMode::Off];

pub(super) fn compare(lab: &Lab<'_>, runs: &Runs) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.scrubbing;
    lab.expect(MODES.len(), 1);
    let found = try_each(&MODES, |&mode| {
        let estimate = estimate(setup, mode, runs)?;
        lab.progress.step();
        Ok::<_, ReproduceError>((mode, estimate))
    })?;
    let mut rows = vec![judged(published(setup, &found))];
    rows.extend(found.iter().flat_map(|(mode, estimate)| notes(*mode, estimate)));
    Ok(rows.into())
}

/// NEBULA with a network function that has a few long packets.
fn estimate(setup: &Scrubbing, mode: ScrubMode, runs: &Runs) -> Result<BlocksEstimate, ReproduceError> {
    let mut machine = Machine::named(&paper::nebula().setup.evaluation.machine).expect("the machine ships with Nebula");
    machine.nic.scrub = mode;
    let design = blocks::Design::named(paper::Design::Nebula.file()).expect("the design ships with Nebula");
    let application = match Application::named(&setup.application) {
        Some(Application::NetworkFunction(function)) => {
            Application::NetworkFunction(NetworkFunction { service: setup.service.clone(), ..function })
        }
        _ => return Err(BlocksError::Key { key: setup.application.clone() }.into()),
    };
    let scenario = Scenario::new(machine, design, application);
    Ok(blocks::estimate(&scenario, Rate::try_new(1e9 / setup.gap_ns)?, runs, &|| ())?)
}

const NACKED: fn(&Figures) -> f64 = |figures| 1.0 - figures.accepted;

/// The share NACKed with the paper's scrubbing, next to the other modes.
fn published(setup: &Scrubbing, found: &[(ScrubMode, BlocksEstimate)]) -> Value {
    let percent = |estimate: &BlocksEstimate| with_interval(positive(estimate, NACKED).scaled(100.0));
    let said = |(mode, estimate): &(ScrubMode, BlocksEstimate)| format!("{} % with scrub={mode}", percent(estimate));
    let why = format!(
        "at {} MRPS of {} are NACKed {}",
        number(1e3 / setup.gap_ns),
        setup.service,
        found.iter().map(said).collect::<Vec<_>>().join(", ")
    );
    let value = positive(&found[0].1, NACKED);
    Value { id: "nebula/scrubbing/nacked".to_owned(), value, why, unfitted: None }
}

fn notes(mode: ScrubMode, estimate: &BlocksEstimate) -> [Row; 3] {
    let row = |short: &str, what: &str, unit: &str, value: Interval| {
        Row::note(format!("nebula/scrubbing/{mode}/{short}"), format!("{what}, scrub={mode}"), unit, value)
    };
    let p99_ns = |figures: &Figures| figures.p99_ps / 1e3;
    [
        row("nacked", "share of RPCs that are NACKed", "share", positive(estimate, NACKED)),
        row("served_mrps", "RPCs served", "MRPS", positive(estimate, |figures| figures.served_rps / 1e6)),
        row("p99_ns", "p99 of the RPCs served", "ns", positive(estimate, p99_ns)),
    ]
}

fn positive(estimate: &BlocksEstimate, figure: impl Fn(&Figures) -> f64) -> Interval {
    Interval::of_positive(&estimate.replications.iter().map(figure).collect::<Vec<_>>())
}
