//! What explains the figures that differ? Servers with a mechanism that the paper leaves open.
//!
//! Each machine is calibrated to the same mean service time of an RPC alone. The rows are notes:
//! they show what would change the rows of other entries.

use super::lab::Lab;
use super::paper::{self, Assignment, Design, MachineVariant, Variants};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::number;
use crate::blocks::{self, Application, BlocksEstimate, Machine, Scenario};
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
use crate::interval::Interval;
use nebula_workload::Rate;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(lab, &lab.effort.of([lab.runs(10_000, 2), lab.runs(40_000, 4), lab.runs(60_000, 6)]))
}

pub(super) fn compare(lab: &Lab<'_>, runs: &Runs) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.variants;
    lab.expect(setup.machines.len() + setup.assignments.len(), 1);
    let machines = try_each(&setup.machines, |variant| of_machine(lab, setup, variant, runs))?;
    let assignments = try_each(&setup.assignments, |assignment| of_assignment(lab, setup, assignment, runs))?;
    Ok(machines.into_iter().chain(assignments).flatten().collect::<Vec<Row>>().into())
}

fn machine(variant: &MachineVariant) -> Result<Machine, ReproduceError> {
    let text = Machine::source(&paper::nebula().setup.evaluation.machine).unwrap_or_default();
    let mut machine = Machine::parse_over(text, &variant.changes)?;
    machine.core.compute_ns = variant.compute_ns;
    Ok(machine)
}

fn scenario(machine: Machine, design: Design) -> Scenario {
    let evaluation = &paper::nebula().setup.evaluation;
    let design = blocks::Design::named(design.file()).expect("the design ships with Nebula");
    let store = Application::key_value(f64::from(evaluation.gets_percent) / 100.0, evaluation.value_bytes);
    Scenario::new(machine, design, store)
}

struct Runner<'a> {
    machine: Machine,
    runs: &'a Runs,
}

impl Runner<'_> {
    fn at(&self, design: Design, gap_ns: f64) -> Result<BlocksEstimate, ReproduceError> {
        let scenario = scenario(self.machine.clone(), design);
        Ok(blocks::estimate(&scenario, Rate::try_new(1e9 / gap_ns)?, self.runs, &|| ())?)
    }
}

type Figure = fn(&blocks::Figures) -> f64;

const P99_NS: Figure = |figures| figures.p99_ps_with_nacks / 1e3;
const SERVICE_NS: Figure = |figures| figures.service_mean_ps / 1e3;

fn over(
    one: &BlocksEstimate,
    other: &BlocksEstimate,
    compare: impl Fn(&blocks::Figures, &blocks::Figures) -> f64,
) -> Interval {
    let pairs = one.replications.iter().zip(&other.replications);
    Interval::of(&pairs.map(|(one, other)| compare(one, other)).collect::<Vec<f64>>())
}

fn of_machine(
    lab: &Lab<'_>,
    setup: &Variants,
    variant: &MachineVariant,
    runs: &Runs,
) -> Result<Vec<Row>, ReproduceError> {
    let runner = Runner { machine: machine(variant)?, runs };
    let (high, beyond, low) = (setup.base_gap_ns, setup.beyond_gap_ns, setup.tail_gap_ns);
    let [base, swpref, steered] = [Design::Base, Design::SwPref, Design::Nebula].map(|design| runner.at(design, high));
    let (base, swpref, steered) = (base?, swpref?, steered?);
    let full = runner.at(Design::Nebula, beyond)?;
    let (rss, rpcvalet) = (runner.at(Design::Rss, low)?, runner.at(Design::RpcValet, low)?);
    let slo_ns = scenario(runner.machine.clone(), Design::Base).slo(setup.bound_services, lab.seed)?.as_ns_f64();
    lab.progress.step();
    let row = |short: &str, what: &str, unit: &str, ours: Interval| {
        let id = format!("nebula/variants/{}/{short}", variant.id);
        Row::note(id, format!("{}: {what}", variant.what), unit, ours)
    };
    let mrps = |gap_ns: f64| number(1e3 / gap_ns);
    let ratio = |one: &blocks::Figures, other: &blocks::Figures| P99_NS(one) / P99_NS(other);
    let gain = |one: &blocks::Figures, other: &blocks::Figures| 1.0 - SERVICE_NS(other) / SERVICE_NS(one);
    Ok(vec![
        row("slo_ns", "the SLO", "ns", Interval::exact(slo_ns)),
        row("base_p99_ns", &format!("p99 of NEBULA_base at {} MRPS", mrps(high)), "ns", base.over(P99_NS)),
        row(
            "nebula_p99_slos",
            &format!("p99 of NEBULA at {} MRPS", mrps(beyond)),
            "SLO",
            full.over(P99_NS).scaled(1.0 / slo_ns),
        ),
        row(
            "queued_at_core",
            &format!("share of RPCs that NEBULA dispatches to a busy core at {} MRPS", mrps(beyond)),
            "share",
            full.over(|figures| figures.queued_at_core),
        ),
        row(
            "swpref_over_base_p99",
            &format!("p99 of NEBULA_SWPref over that of NEBULA_base at {} MRPS", mrps(high)),
            "×",
            over(&swpref, &base, ratio).not_negative(),
        ),
        row(
            "steering_gain",
            &format!("what steering takes off the service time at {} MRPS", mrps(high)),
            "share",
            over(&base, &steered, gain),
        ),
        row("rpcvalet_p99_ns", &format!("p99 of RPCValet at {} MRPS", mrps(low)), "ns", rpcvalet.over(P99_NS)),
        row(
            "rss_over_rpcvalet_p99",
            &format!("p99 of RSS over that of RPCValet at {} MRPS", mrps(low)),
            "×",
            over(&rss, &rpcvalet, ratio).not_negative(),
        ),
    ])
}

/// A shared buffer under another assignment: highest rate, and tail over that of one queue.
fn of_assignment(
    lab: &Lab<'_>,
    setup: &Variants,
    assignment: &Assignment,
    runs: &Runs,
) -> Result<Vec<Row>, ReproduceError> {
    let shipped = Machine::named(&paper::nebula().setup.evaluation.machine).expect("the machine ships with Nebula");
    let mut srq = scenario(shipped.clone(), Design::Srq);
    srq.design.policy = assignment.policy;
    let slo = srq.slo(setup.bound_services, lab.seed)?;
    let highest = blocks::rate_at_slo(&srq, slo, srq.bracket(lab.seed)?, runs, &|| ())?;
    let rate = Rate::try_new(1e9 / setup.balance_gap_ns)?;
    let ours = blocks::estimate(&srq, rate, runs, &|| ())?;
    let base = blocks::estimate(&scenario(shipped, Design::Base), rate, runs, &|| ())?;
    lab.progress.step();
    let row = |short: &str, what: String, unit: &str, ours: Interval| {
        Row::note(format!("nebula/variants/srq-{}/{short}", assignment.id), what, unit, ours)
    };
    let name = format!("SRQ_emu with assignment {}", assignment.policy);
    let mrps = number(1e3 / setup.balance_gap_ns);
    Ok(vec![
        row("rate", format!("{name}: highest rate at the SLO"), "MRPS", highest.rate_rps.scaled(1e-6)),
        row(
            "over_base_p99",
            format!("{name}: p99 over that of NEBULA_base at {mrps} MRPS"),
            "×",
            over(&ours, &base, |one, other| P99_NS(one) / P99_NS(other)).not_negative(),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_is_calibrated_to_the_same_service() {
        let setup = &paper::nebula().setup;
        let alone = |variant: &MachineVariant| {
            let effort = Runs::default().rpcs(10_000).replications(2);
            let scenario = scenario(machine(variant).expect("a valid machine"), Design::Base);
            blocks::service_time(&scenario, &effort).expect("a run").value / 1e3
        };
        let shipped = alone(&setup.variants.machines[0]);
        for variant in &setup.variants.machines {
            let mean_ns = alone(variant);
            assert!((mean_ns / shipped - 1.0).abs() < 0.005, "{}: {mean_ns} ns, not {shipped}", variant.id);
        }
    }
}
