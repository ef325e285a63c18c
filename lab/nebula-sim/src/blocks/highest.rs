//! The highest rate that meets an SLO, judged by the RPCs of all replications together.

use super::error::BlocksError;
use super::experiment::{BlocksEstimate, estimate, estimate_unless_late};
use super::scenario::Scenario;
use crate::experiment::effort::Effort;
use crate::interval::ratio::Ratio;
use crate::search::bracket::Bracket;
use crate::search::crossing::{Above, Highest, LATE, SearchEnd, Trial, cross, until_decided};
use nebula_nic::Span;
use nebula_workload::Rate;

/// Searches `bracket` for the highest rate at which 99 % of all RPCs end within `slo` and the
/// server keeps up; a NACK counts as infinite.
///
/// Each rate is judged by all replications together. The search is repeated with twice the
/// replications until half the rate's interval is within the precision or the effort is spent;
/// without a precision, until it is within 1 % of the rate or four times the replications have run.
/// [`BlocksEstimate::is_precise`] says which. Each repetition costs about eight times an
/// [`estimate`]; a rate that is far too high costs a tenth of one.
///
/// # Errors
///
/// [`BlocksError::Slo`] if the lowest rate already misses it; otherwise the errors of a run.
pub fn highest_rate(
    scenario: &Scenario,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<Highest<BlocksEstimate>, BlocksError> {
    effort.validate()?;
    let once = |effort: &Effort| Search { scenario, slo, bracket, effort, progress }.run();
    let (mut found, is_precise) = until_decided(effort, once)?;
    found.at.is_precise = Some(is_precise);
    Ok(found)
}

struct Search<'a> {
    scenario: &'a Scenario,
    slo: Span,
    bracket: Bracket,
    effort: &'a Effort,
    progress: &'a (dyn Fn() + Sync),
}

impl Search<'_> {
    fn run(&self) -> Result<Highest<BlocksEstimate>, BlocksError> {
        let Bracket { lowest, highest, .. } = self.bracket;
        let at_lowest = estimate(self.scenario, Rate::try_new(lowest)?, self.effort, self.progress)?;
        if let Some(Above::Missed(_)) = self.judge(&at_lowest) {
            let (design, p99_ps) = (self.scenario.design.name.clone(), at_lowest.tally.latency_with_nacks(0.99));
            return Err(BlocksError::Slo { design, slo_ns: self.slo.as_ns_f64(), p99_ns: p99_ps / 1e3 });
        }
        cross(self, self.bracket, at_lowest, (highest, SearchEnd::Highest))
    }

    /// Why a rate does not count as met; `None` if it does.
    fn judge(&self, shown: &BlocksEstimate) -> Option<Above> {
        let late = self.late(shown).value;
        if late > LATE {
            return Some(Above::Missed(libm::log(late)));
        }
        if shown.falls_behind(self.slo) {
            // However few are late so far.
            return Some(Above::Missed(f64::INFINITY));
        }
        (!shown.is_settled).then_some(Above::Unsettled)
    }
}

impl Trial for Search<'_> {
    type Shown = BlocksEstimate;
    type Error = BlocksError;

    fn at(&self, rps: f64) -> Result<Result<BlocksEstimate, Above>, BlocksError> {
        let shown = estimate_unless_late(self.scenario, self.slo, Rate::try_new(rps)?, self.effort)?;
        let judge = |shown: BlocksEstimate| self.judge(&shown).map_or(Ok(shown), Err);
        Ok(shown.map_or(Err(Above::Missed(f64::INFINITY)), judge))
    }

    fn late(&self, shown: &BlocksEstimate) -> Ratio {
        shown.late(self.slo)
    }
}
