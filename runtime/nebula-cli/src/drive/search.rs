//! Searches for the highest load that meets the SLO, one load after the other.

use nebula_nic::Span;
use nebula_workload::{Rate, SearchResult, SloSearch};

use super::live::Progress;
use super::plan::LoadPlan;
use super::run::{LoadOutcome, run};
use nebula_ui::output::Failure;

#[derive(Clone, Debug)]
pub(crate) struct FoundSlo {
    pub(crate) slo: Span,
    /// The highest rate that met the SLO, and the lowest that missed it.
    pub(crate) result: SearchResult,
    pub(crate) probes: Vec<Probe>,
}

#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) rate: Rate,
    pub(crate) outcome: LoadOutcome,
    /// Whether the raw p99, with NACKs as infinite latency, was within the SLO, and that of each
    /// operation within its own.
    pub(crate) is_met: bool,
}

impl FoundSlo {
    /// The last load at the highest rate that met the SLO; if none did, the last load of all.
    pub(crate) fn best(&self) -> Option<&Probe> {
        let is_best =
            |probe: &&Probe| probe.is_met && Some(probe.rate.as_rps()) == self.result.throughput_under_slo_rps;
        self.probes.iter().rev().find(is_best).or(self.probes.last())
    }
}

/// The search ends when the bracket is this share of its lower end: loads of a second on a shared
/// machine show no smaller difference.
const PRECISION: f64 = 0.05;
const LOWEST_RPS: f64 = 1e3;
const HIGHEST_RPS: f64 = 1e8;

/// Searches for the highest rate whose p99 is within `slo`, beginning at the plan's rate. Calls
/// `watch` with the progress of each load and `judged` with each finished probe.
pub(crate) fn find_slo(
    plan: &LoadPlan,
    slo: Span,
    watch: &mut dyn FnMut(&Progress),
    judged: &mut dyn FnMut(&Probe),
) -> Result<FoundSlo, Failure> {
    let limits = Rate::try_new(LOWEST_RPS)?..=Rate::try_new(HIGHEST_RPS)?;
    let mut search = SloSearch::new(slo, plan.rate, limits, PRECISION);
    let mut probes = Vec::new();
    while let Some(rate) = search.next_rate() {
        let outcome = run(&plan.at(rate), watch)?;
        if outcome.was_interrupted {
            return Err(Failure::Interrupted);
        }
        let report = &outcome.report;
        let is_met = search.is_met_by(report.latency.raw()) && report.by_op.meets(&plan.slo_of);
        search.handle_result(rate, is_met);
        let probe = Probe { rate, outcome, is_met };
        judged(&probe);
        probes.push(probe);
    }
    Ok(FoundSlo { slo, result: search.result(), probes })
}
