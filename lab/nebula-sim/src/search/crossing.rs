//! Both levels' search for the load, or rate, at which the share of RPCs later than an SLO crosses
//! 1 %. All replications' RPCs together judge a load; its interval comes from that of the share.

use super::bracket::Bracket;
use crate::experiment::effort::Effort;
use crate::interval::Interval;
use crate::interval::ratio::Ratio;

/// Why a search ended at its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// A higher load misses the SLO.
    Missed,
    /// The highest load tried meets it: the true one may be higher.
    Highest,
    /// A higher load does not settle with this effort: the true one may be higher.
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

/// The precision at which a load is decided, unless one is given: half its interval over it.
pub(crate) const DECIDED: f64 = 0.01;

/// The most times that replications are multiplied by, unless a precision is given.
const UNASKED: u32 = 4;

/// The share of RPCs that may exceed a p99.
pub(crate) const LATE: f64 = 0.01;

pub(crate) trait Trial {
    type Shown;
    type Error;

    /// The results at a load that is met, or why it is not.
    fn at(&self, load: f64) -> Result<Result<Self::Shown, Above>, Self::Error>;

    fn late(&self, shown: &Self::Shown) -> Ratio;
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Above {
    /// The logarithm of the share of late RPCs; infinite where the queue outgrew the run.
    Missed(f64),
    Unsettled,
}

/// The highest load that meets an SLO.
#[derive(Clone, Debug)]
pub struct Highest<S> {
    /// Load as a share of the cores' capacity, or in RPCs per second at the block level, with its
    /// interval.
    pub load: Interval,
    /// Why the search ended there.
    pub end: SearchEnd,
    /// The results at that load.
    pub at: S,
}

/// Repeats a search with twice the replications until half the load's interval is within the
/// precision, or the effort is spent; without a precision, until it is [`DECIDED`] or [`UNASKED`]
/// times the replications have run. Also returns whether the load is known that well.
pub(crate) fn until_decided<S, E>(
    effort: &Effort,
    search: impl Fn(&Effort) -> Result<Highest<S>, E>,
) -> Result<(Highest<S>, bool), E> {
    let mut effort = *effort;
    let most = match effort.precision {
        Some(_) => effort.replications_max,
        None => effort.replications.saturating_mul(UNASKED),
    };
    loop {
        let found = search(&Effort { precision: None, ..effort })?;
        let is_precise = found.load.relative() <= effort.precision.unwrap_or(DECIDED);
        // More replications do not change a search that ended at a bound or at windows too short.
        let is_over = effort.precision.is_none() && found.end != SearchEnd::Missed;
        if is_precise || is_over || effort.replications >= most {
            return Ok((found, is_precise));
        }
        effort.replications = (effort.replications * 2).min(most);
    }
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    load: f64,
    late: f64,
}

/// Searches between the lowest load of `bracket`, with the results `at`, and `highest`. If all
/// loads are met, the search ends for the reason `end`.
pub(crate) fn cross<T: Trial>(
    trial: &T,
    bracket: Bracket,
    mut at: T::Shown,
    (highest, mut end): (f64, SearchEnd),
) -> Result<Highest<T::Shown>, T::Error> {
    let Bracket { lowest, width, .. } = bracket;
    let ln_late = |shown: &T::Shown| libm::log(trial.late(shown).value);
    let mut met = Tried { load: lowest, late: ln_late(&at) };
    let mut missed = Tried { load: highest, late: f64::INFINITY };
    let mut tried = vec![met];
    let mut is_middle = true;
    while missed.load - met.load > width {
        let is_open = tried.iter().all(|tried| tried.load <= met.load);
        // If all loads so far are met, one step goes to the highest.
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
    Ok(Highest { load, end, at })
}

/// The interval of the load found: where the ends of the share's interval are 1 %, along its slope.
fn interval(late: &Ratio, bracket: Bracket, met: Tried, missed: Tried, tried: &[Tried]) -> Interval {
    let Interval { value, lo, hi } = late.interval();
    let (below, above) = (value.min(LATE), LATE);
    // Far enough from the load that the resolution does not matter.
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

/// The highest load tried below the one found: the lower end if the slope is unknown.
fn below_of(met: Tried, tried: &[Tried]) -> f64 {
    tried.iter().map(|one| one.load).filter(|&load| load < met.load).fold(0.0, f64::max)
}

/// Where the share would be 1 % if it grew exponentially between both loads; not near either.
fn between(met: Tried, missed: Tried) -> f64 {
    let part = (libm::log(LATE) - met.late) / (missed.late - met.late);
    met.load + (missed.load - met.load) * part.clamp(0.1, 0.9)
}
