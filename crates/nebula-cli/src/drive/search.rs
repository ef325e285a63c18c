//! The highest load that meets the SLO: one load after the other, each as the search asks for it.

use nebula_nic::Span;
use nebula_workload::{Rate, SearchResult, SloSearch};

use super::live::Progress;
use super::plan::LoadPlan;
use super::run::{LoadOutcome, run};
use crate::output::Failure;

/// What was found, and every load on the way.
#[derive(Clone, Debug)]
pub(crate) struct FoundSlo {
    /// The bound that was to be kept.
    pub(crate) slo: Span,
    /// The highest rate met, the lowest missed.
    pub(crate) result: SearchResult,
    /// In the order in which they ran.
    pub(crate) probes: Vec<Probe>,
}

/// One load of a search.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) rate: Rate,
    pub(crate) outcome: LoadOutcome,
    /// Whether the raw p99, NACKs counted as infinite, was within the SLO.
    pub(crate) is_met: bool,
}

impl FoundSlo {
    /// The last load at the highest rate that met the SLO; where none did, the last load of all.
    pub(crate) fn best(&self) -> Option<&Probe> {
        let is_best =
            |probe: &&Probe| probe.is_met && Some(probe.rate.as_rps()) == self.result.throughput_under_slo_rps;
        self.probes.iter().rev().find(is_best).or(self.probes.last())
    }
}

/// The bracket is narrowed to this share of its lower end: what two loads of a second can tell apart on a shared machine.
const PRECISION: f64 = 0.05;
const LOWEST_RPS: f64 = 1e3;
const HIGHEST_RPS: f64 = 1e8;

/// Searches for the highest rate whose p99 is within `slo`, beginning at the plan's. `watch` sees each load's progress, `judged` each
/// probe with its verdict.
///
/// # Errors
///
/// As [`run`]; `Interrupted` after a signal.
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
        let is_met = search.is_met_by(outcome.report.latency.raw());
        search.handle_result(rate, is_met);
        let probe = Probe { rate, outcome, is_met };
        judged(&probe);
        probes.push(probe);
    }
    Ok(FoundSlo { slo, result: search.result(), probes })
}
