//! Where the share of RPCs later than an SLO crosses 1 %: the search that both levels of detail
//! make, over a load or a rate.
//!
//! Every load is judged by the RPCs of all replications together. Where the share crosses 1 % is
//! the load that is found; where the ends of the share's interval cross it are the ends of the
//! load's.

use super::bracket::Bracket;
use crate::experiment::effort::Effort;
use crate::interval::Interval;
use crate::interval::ratio::Ratio;

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

/// Half of a load's interval over the load, at which it counts as decided unless a precision is
/// asked for.
pub(crate) const DECIDED: f64 = 0.01;

/// How many times the replications are made at most, unless a precision is asked for.
const UNASKED: u32 = 4;

/// The share of RPCs that a p99 leaves.
pub(crate) const LATE: f64 = 0.01;

/// What is tried at a load.
pub(crate) trait Trial {
    /// The results at a load.
    type Shown;
    type Error;

    /// The results at a load that counts as met, or why it does not.
    fn at(&self, load: f64) -> Result<Result<Self::Shown, Above>, Self::Error>;

    /// The share of RPCs later than the SLO.
    fn late(&self, shown: &Self::Shown) -> Ratio;
}

/// Why a load does not count as met.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Above {
    /// The logarithm of the share of late RPCs; infinite where the queue outgrew the run.
    Missed(f64),
    Unsettled,
}

/// The highest load that counts as met, why the search ended there, and the results at it.
pub(crate) struct Crossed<S> {
    pub(crate) load: Interval,
    pub(crate) end: SearchEnd,
    pub(crate) at: S,
}

/// Repeats a search with twice the replications until half the load's interval is within the
/// precision or the effort is spent; without a precision, until it is decided or four times the
/// replications have run. Also says whether the load is known that well.
pub(crate) fn until_decided<S, E>(
    effort: &Effort,
    search: impl Fn(&Effort) -> Result<Crossed<S>, E>,
) -> Result<(Crossed<S>, bool), E> {
    let mut effort = *effort;
    let most = match effort.precision {
        Some(_) => effort.replications_max,
        None => effort.replications.saturating_mul(UNASKED),
    };
    loop {
        let found = search(&Effort { precision: None, ..effort })?;
        let is_precise = found.load.relative() <= effort.precision.unwrap_or(DECIDED);
        // A search that ended at a bound, or where windows are too short, is not decided by more of
        // the same.
        let is_over = effort.precision.is_none() && found.end != SearchEnd::Missed;
        if is_precise || is_over || effort.replications >= most {
            return Ok((found, is_precise));
        }
        effort.replications = (effort.replications * 2).min(most);
    }
}

/// A load that was tried.
#[derive(Clone, Copy, Debug)]
struct Tried {
    load: f64,
    /// The logarithm of the share of late RPCs; infinite where the queue outgrew the run.
    late: f64,
}

/// Searches between the lowest load of `bracket`, where the results are `at`, and `highest`. Where
/// every load counts as met, the search ends for the reason `end`.
pub(crate) fn cross<T: Trial>(
    trial: &T,
    bracket: Bracket,
    mut at: T::Shown,
    (highest, mut end): (f64, SearchEnd),
) -> Result<Crossed<T::Shown>, T::Error> {
    let Bracket { lowest, width, .. } = bracket;
    let ln_late = |shown: &T::Shown| libm::log(trial.late(shown).value);
    let mut met = Tried { load: lowest, late: ln_late(&at) };
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
        match trial.at(next)? {
            Ok(shown) => {
                met = Tried { load: next, late: ln_late(&shown) };
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
    let mut load = interval(&trial.late(&at), bracket, met, missed, &tried);
    if end != SearchEnd::Missed {
        load.hi = bracket.highest;
    }
    Ok(Crossed { load, end, at })
}

/// The interval of the load that was found: where the ends of the share's interval are 1 %, along
/// its slope over the load.
fn interval(late: &Ratio, bracket: Bracket, met: Tried, missed: Tried, tried: &[Tried]) -> Interval {
    let Interval { value, lo, hi } = late.interval();
    let (below, above) = (value.min(LATE), LATE);
    // Far enough from the load that it is not the resolution that is seen.
    let far = |one: &&Tried| one.late.is_finite() && (one.load - met.load).abs() >= 4.0 * bracket.width;
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
        false if value > 0.0 => (below_of(met, tried), met.load),
        false => (met.load, met.load),
    };
    let highest = if missed.load < bracket.highest { missed.load.max(hi) } else { hi };
    Interval { value: met.load, lo: lo.max(0.0).min(met.load), hi: highest.max(met.load).min(bracket.highest) }
}

/// The highest load below the one that was found: the lower end where no slope is known.
fn below_of(met: Tried, tried: &[Tried]) -> f64 {
    tried.iter().map(|one| one.load).filter(|&load| load < met.load).fold(0.0, f64::max)
}

/// Where the share of late RPCs would be 1 % if it grew exponentially between both loads, kept away
/// from them.
fn between(met: Tried, missed: Tried) -> f64 {
    let part = (libm::log(LATE) - met.late) / (missed.late - met.late);
    met.load + (missed.load - met.load) * part.clamp(0.1, 0.9)
}
