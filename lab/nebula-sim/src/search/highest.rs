//! The highest load that meets an SLO, by the RPCs of all replications together, with its interval.
//!
//! A load at which the effort does not settle is never met: the search ends below it and says so.

use super::bracket::Bracket;
use super::crossing::{Above, Highest, LATE, SearchEnd, Trial, cross, until_decided};
use super::starving::bounded;
use crate::error::SimError;
use crate::experiment::effort::Effort;
use crate::experiment::{Estimate, estimate};
use crate::interval::ratio::Ratio;
use crate::load::Load;
use crate::settled::Relaxation;
use crate::system::System;
use nebula_nic::Span;

/// Searches for the highest load at which 99 % of all RPCs end within `slo`, as no NACK does.
///
/// The search repeats with twice the replications until half the load's interval is within the
/// precision or the effort is spent; without a precision, until it is within 1 % of the load or
/// four times the replications have run. [`Estimate::is_precise`] says which.
///
/// # Errors
///
/// [`SimError::Slo`] if the lowest load misses it, [`SimError::Unsettled`] if the effort does not
/// settle there; otherwise a run's errors.
///
/// # Cost
///
/// About ten times that of [`estimate`] at the load found.
pub fn highest_load(
    system: &System,
    load: &Load,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<Highest<Estimate>, SimError> {
    let system = &bounded(system);
    let once = |effort: &Effort| Search { system, load, slo, bracket, effort, progress }.run();
    let (mut found, is_precise) = until_decided(effort, once)?;
    found.at.is_precise = Some(is_precise);
    Ok(found)
}

struct Search<'a> {
    system: &'a System,
    load: &'a Load,
    slo: Span,
    bracket: Bracket,
    effort: &'a Effort,
    progress: &'a (dyn Fn() + Sync),
}

impl Search<'_> {
    fn run(&self) -> Result<Highest<Estimate>, SimError> {
        let highest = self.highest_settled();
        cross(self, self.bracket, self.lowest()?, highest)
    }

    /// The highest load that may settle, and why no higher one is tried.
    fn highest_settled(&self) -> (f64, SearchEnd) {
        let Bracket { lowest, highest, .. } = self.bracket;
        let settles = |at: f64| {
            let load = self.load.clone().at(at);
            let within = |known: Relaxation| {
                known.is_within(self.effort.length(self.system, &load), self.effort.replications as usize)
            };
            Relaxation::of(self.system, &load).is_none_or(within)
        };
        if settles(highest) {
            return (highest, SearchEnd::Highest);
        }
        let (mut low, mut high) = (lowest, highest);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if settles(middle) { low = middle } else { high = middle }
        }
        (low, SearchEnd::Unsettled)
    }

    fn lowest(&self) -> Result<Estimate, SimError> {
        let lowest = self.bracket.lowest;
        let shown = estimate(self.system, &self.load.clone().at(lowest), self.effort, self.progress)?;
        match self.judge(&shown) {
            None => Ok(shown),
            Some(Above::Missed(_)) => {
                let p99_ns = shown.tally.latency_with_nacks(0.99) / 1e3;
                Err(SimError::Slo { slo_ns: self.slo.as_ns_f64(), p99_ns })
            }
            Some(Above::Unsettled) => Err(SimError::Unsettled { load: lowest }),
        }
    }

    /// Why a load is not met; `None` if it is.
    fn judge(&self, shown: &Estimate) -> Option<Above> {
        let late = self.late(shown).value;
        if shown.is_starving || late > LATE {
            return Some(Above::Missed(libm::log(late)));
        }
        (!shown.is_settled).then_some(Above::Unsettled)
    }
}

impl Trial for Search<'_> {
    type Shown = Estimate;
    type Error = SimError;

    fn at(&self, load: f64) -> Result<Result<Estimate, Above>, SimError> {
        let shown = match estimate(self.system, &self.load.clone().at(load), self.effort, &|| ()) {
            Err(SimError::Outgrown { .. } | SimError::HotCore { .. }) => return Ok(Err(Above::Missed(f64::INFINITY))),
            shown => shown?,
        };
        Ok(self.judge(&shown).map_or(Ok(shown), Err))
    }

    fn late(&self, shown: &Estimate) -> Ratio {
        shown.late(self.slo)
    }
}
