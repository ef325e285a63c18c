//! The highest load that meets an SLO, by the RPCs of all replications together, with its interval.
//!
//! At each load that is tried, the share of RPCs later than the SLO is measured with its interval. Where the share crosses 1 % is the load;
//! where the ends of the interval cross it are the ends of the load's. A load at which the effort does not settle never counts as met,
//! so that the search ends below it, and says so.

use super::{Bracket, bounded};
use crate::error::SimError;
use crate::experiment::{Effort, Estimate, estimate};
use crate::interval::{Interval, Ratio};
use crate::load::Load;
use crate::settled::Relaxation;
use crate::system::System;
use nebula_nic::Span;

/// The highest load that meets an SLO.
#[derive(Clone, Debug)]
pub struct HighestLoad {
    /// Load as a share of the cores' capacity, with its interval.
    pub load: Interval,
    /// Why the search ended there.
    pub end: SearchEnd,
    /// The results at that load.
    pub at: Estimate,
}

/// Why a search ended at its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// A higher load misses the SLO.
    Missed,
    /// It is the highest load that is looked at: the true one may be higher.
    Highest,
    /// At a higher load this effort does not settle: the true one may be higher.
    Unsettled,
}

impl SearchEnd {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Highest => "highest",
            Self::Unsettled => "unsettled",
        }
    }
}

/// Half of a load's interval over the load, at which it counts as decided unless a precision is asked for.
pub(crate) const DECIDED: f64 = 0.01;

/// How many times the replications are made at most, unless a precision is asked for.
const UNASKED: u32 = 4;

/// The share of RPCs that a p99 leaves.
const LATE: f64 = 0.01;

/// Searches for the highest load at which 99 % of all RPCs end within `slo`, between the ends of `bracket`; a NACK counts as infinite.
///
/// The search is repeated with twice the replications until half the load's interval is within the precision or the effort is spent; without
/// a precision, until it is within 1 % of the load or four times the replications have run. [`Estimate::is_precise`] says which.
///
/// # Errors
///
/// [`SimError::Slo`] if the lowest load already misses it, [`SimError::Unsettled`] if the effort does not settle there; otherwise the
/// errors of a run.
///
/// # Cost
///
/// About ten times that of [`estimate`] at the load that is found.
pub fn highest_load(
    system: &System,
    load: &Load,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<HighestLoad, SimError> {
    let mut effort = *effort;
    let most = match effort.precision {
        Some(_) => effort.replications_max,
        None => effort.replications.saturating_mul(UNASKED),
    };
    loop {
        let once = Effort { precision: None, ..effort };
        let mut found = Search { system: &bounded(system), load, slo, bracket, effort: &once, progress }.run()?;
        let is_precise = found.load.relative() <= effort.precision.unwrap_or(DECIDED);
        // A search that ended at a bound is not decided by more of the same.
        let is_over = effort.precision.is_none() && found.end != SearchEnd::Missed;
        if is_precise || is_over || effort.replications >= most {
            found.at.is_precise = Some(is_precise);
            return Ok(found);
        }
        effort.replications = (effort.replications * 2).min(most);
    }
}

struct Search<'a> {
    system: &'a System,
    load: &'a Load,
    slo: Span,
    bracket: Bracket,
    effort: &'a Effort,
    progress: &'a (dyn Fn() + Sync),
}

/// A load that was tried.
#[derive(Clone, Copy, Debug)]
struct Tried {
    load: f64,
    /// The logarithm of the share of late RPCs; infinite where the queue outgrew the run.
    late: f64,
}

/// What a load that does not count as met is.
#[derive(Clone, Copy, Debug)]
enum Above {
    Missed(f64),
    Unsettled,
}

impl Search<'_> {
    fn run(&self) -> Result<HighestLoad, SimError> {
        let Bracket { lowest, width, .. } = self.bracket;
        let (highest, mut end) = self.highest_settled();
        let mut at = self.lowest()?;
        let mut met = Tried { load: lowest, late: ln_late(&at, self.slo) };
        let mut missed = Tried { load: highest, late: f64::INFINITY };
        let mut tried = vec![met];
        let mut is_middle = true;
        while missed.load - met.load > width {
            let is_open = tried.iter().all(|tried| tried.load <= met.load);
            // Where every load so far is met, the last steps to the highest one are one.
            let next = match is_open && missed.load - met.load <= 8.0 * width {
                true => highest,
                false if is_middle => f64::midpoint(met.load, missed.load),
                false => between(met, missed),
            };
            is_middle = !is_middle || !missed.late.is_finite() || !met.late.is_finite();
            match self.probe(next)? {
                Ok(shown) => {
                    met = Tried { load: next, late: ln_late(&shown, self.slo) };
                    at = shown;
                    tried.push(met);
                    if next >= highest {
                        break;
                    }
                }
                Err(why) => {
                    let late = if let Above::Missed(late) = why { late } else { f64::INFINITY };
                    end = if let Above::Missed(_) = why { SearchEnd::Missed } else { SearchEnd::Unsettled };
                    missed = Tried { load: next, late };
                    tried.push(missed);
                }
            }
        }
        let mut load = self.interval(met, missed, &tried, &at);
        if end != SearchEnd::Missed {
            load.hi = self.bracket.highest;
        }
        Ok(HighestLoad { load, end, at })
    }

    /// The highest load of the bracket at which the effort may settle, and why no higher one is tried.
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

    /// The results at a load that counts as met, or why it does not.
    fn probe(&self, at: f64) -> Result<Result<Estimate, Above>, SimError> {
        let shown = match estimate(self.system, &self.load.clone().at(at), self.effort, &|| ()) {
            // A queue that exceeds its limit has missed every SLO.
            Err(SimError::Outgrown { .. } | SimError::HotCore { .. }) => return Ok(Err(Above::Missed(f64::INFINITY))),
            shown => shown?,
        };
        Ok(self.judge(&shown).map_or(Ok(shown), Err))
    }

    /// Why a load does not count as met; `None` if it does.
    fn judge(&self, shown: &Estimate) -> Option<Above> {
        let late = shown.late(self.slo).value;
        if shown.is_starving || late > LATE {
            return Some(Above::Missed(libm::log(late)));
        }
        (!shown.is_settled).then_some(Above::Unsettled)
    }

    /// The interval of the load that was found: where the ends of the share's interval are 1 %, along its slope over the load.
    fn interval(&self, met: Tried, missed: Tried, tried: &[Tried], at: &Estimate) -> Interval {
        let late: Ratio = at.late(self.slo);
        let Interval { value, lo, hi } = late.interval();
        let (below, above) = (value.min(LATE), LATE);
        // Far enough from the load that it is not the resolution that is seen.
        let far = |one: &&Tried| one.late.is_finite() && (one.load - met.load).abs() >= 4.0 * self.bracket.width;
        let near = tried
            .iter()
            .filter(far)
            .min_by(|one, other| (one.load - met.load).abs().total_cmp(&(other.load - met.load).abs()));
        let slope = near.map_or(0.0, |one| (one.late - met.late) / (one.load - met.load));
        let (lo, hi) = match slope > 0.0 && value > 0.0 {
            true => (
                met.load - (libm::log(hi / below) - libm::log(above / below)).max(0.0) / slope,
                met.load + libm::log(above / lo.min(below)) / slope,
            ),
            false => (met.load, met.load),
        };
        let highest = if missed.load < self.bracket.highest { missed.load.max(hi) } else { hi };
        Interval { value: met.load, lo: lo.max(0.0).min(met.load), hi: highest.max(met.load).min(self.bracket.highest) }
    }
}

fn ln_late(shown: &Estimate, slo: Span) -> f64 {
    libm::log(shown.late(slo).value)
}

/// Where the share of late RPCs would be 1 % if it grew exponentially between both loads, kept away from them.
fn between(met: Tried, missed: Tried) -> f64 {
    let part = (libm::log(LATE) - met.late) / (missed.late - met.late);
    met.load + (missed.load - met.load) * part.clamp(0.1, 0.9)
}
