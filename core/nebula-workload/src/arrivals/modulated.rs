//! Poisson arrivals of two rates in turn: `mmpp2:5x,0.1,100us` and `on-off:100us,300us`.
//!
//! The time in a state is exponential, so the time left in it at an arrival is exponential too.
//! Each gap draws an amount of work, which is used up at the rate of the current state:
//!
//! ```text
//! work = an exponential number of mean 1
//! until work < left * rate:  work -= left * rate; the other state begins, left = its exponential time
//! the next arrival is work / rate from here
//! ```
//!
//! If a cycle of both states is shorter than a hundredth of the mean gap, it is lengthened to that:
//! otherwise a draw would take a change of state for each cycle in a gap. At that length the
//! squared CV of the gaps is within 0.02 of 1: the arrivals are practically Poisson.
//
// Source: W. Fischer, K. Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook",
// Performance Evaluation 18(2), 1993.

use std::fmt;

use nebula_nic::Span;

use super::carry::Carry;
use super::gap::gap_ps_mean;
use crate::error::WorkloadError;
use crate::rate::Rate;
use crate::rng::Rng;
use crate::spelling::Time;

/// A two-state Markov-modulated Poisson process: calm, and bursts.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::{Arrivals, Mmpp2};
///
/// let mmpp2 = Mmpp2::try_new(5.0, 0.1, Span::from_us(100))?;
/// assert_eq!("mmpp2:5x,0.1,100us".parse(), Ok(Arrivals::Mmpp2(mmpp2)));
/// assert!(Mmpp2::try_new(5.0, 1.0, Span::from_us(100)).is_err());
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Mmpp2 {
    ratio: f64,
    share: f64,
    sojourn: Span,
}

/// Beyond this ratio the calm rate is lost to rounding.
const RATIO_MAX: f64 = 1e6;

impl Mmpp2 {
    /// Creates a process whose rate in bursts is `ratio` times the calm one, with bursts of
    /// `sojourn` on average that take `share` of the time.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] for a `ratio` outside 1 to 10⁶, a `share` that leaves no time
    /// for one of the states, and a `sojourn` of 0.
    pub fn try_new(ratio: f64, share: f64, sojourn: Span) -> Result<Self, WorkloadError> {
        if !(1.0..=RATIO_MAX).contains(&ratio) {
            return Err(WorkloadError::out_of_range("mmpp2 ratio", ratio, "use 1 to 1e6"));
        }
        if !(SHARE_MIN..=1.0 - SHARE_MIN).contains(&share) {
            return Err(WorkloadError::out_of_range("mmpp2 share of bursts", share, "use 1e-6 to 1 - 1e-6"));
        }
        check_period("mmpp2 mean burst in ps", sojourn)?;
        Ok(Self { ratio, share, sojourn })
    }

    pub(super) fn at(self, rate: Rate) -> Modulated {
        let burst_ps = self.sojourn.as_ps() as f64;
        let calm_ps = burst_ps * (1.0 - self.share) / self.share;
        Modulated::new([1.0, self.ratio], [calm_ps, burst_ps], rate)
    }
}

/// Bursts rarer than this share of the time do not occur within a run.
const SHARE_MIN: f64 = 1e-6;

fn check_period(what: &'static str, period: Span) -> Result<(), WorkloadError> {
    if period == Span::ZERO { Err(WorkloadError::out_of_range(what, 0.0, "use a time above 0")) } else { Ok(()) }
}

impl fmt::Display for Mmpp2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mmpp2:{}x,{},{}", self.ratio, self.share, Time(self.sojourn))
    }
}

/// Poisson arrivals while on, none while off: an interrupted Poisson process.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::{Arrivals, OnOff};
///
/// let on_off = OnOff::try_new(Span::from_us(100), Span::from_us(300))?;
/// assert_eq!("on-off:100us,300us".parse(), Ok(Arrivals::OnOff(on_off)));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OnOff {
    on: Span,
    off: Span,
}

impl OnOff {
    /// Creates a process that is on for `on` and off for `off`, on average.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] for a period of 0.
    pub fn try_new(on: Span, off: Span) -> Result<Self, WorkloadError> {
        check_period("on period in ps", on)?;
        check_period("off period in ps", off)?;
        Ok(Self { on, off })
    }

    pub(super) fn at(self, rate: Rate) -> Modulated {
        Modulated::new([0.0, 1.0], [self.off.as_ps() as f64, self.on.as_ps() as f64], rate)
    }
}

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on-off:{},{}", Time(self.on), Time(self.off))
    }
}

#[derive(Copy, Clone, Debug)]
struct State {
    rate_per_ps: f64,
    mean_ps: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Modulated {
    /// Calm and burst, or off and on, in this order.
    states: [State; 2],
    /// `None` until the first gap is drawn.
    current: Option<usize>,
    left_ps: f64,
    carry: Carry,
}

const CYCLES_MAX: f64 = 100.0;

impl Modulated {
    /// A process whose rates are in the ratio of `weights`.
    fn new(weights: [f64; 2], means_ps: [f64; 2], rate: Rate) -> Self {
        let cycle_ps = means_ps[0] + means_ps[1];
        let weight_mean = (weights[0] * means_ps[0] + weights[1] * means_ps[1]) / cycle_ps;
        let stretch = (gap_ps_mean(rate) / CYCLES_MAX / cycle_ps).max(1.0);
        let rate_per_ps = |weight: f64| weight / weight_mean / gap_ps_mean(rate);
        let state =
            |index: usize| State { rate_per_ps: rate_per_ps(weights[index]), mean_ps: means_ps[index] * stretch };
        Self { states: [0, 1].map(state), current: None, left_ps: 0.0, carry: Carry::default() }
    }

    pub(super) fn next_gap(&mut self, rng: &mut Rng) -> Span {
        let mut current = self.current.unwrap_or_else(|| self.begin(rng));
        let mut work = rng.exponential();
        let mut gap_ps = 0.0;
        // A state without arrivals has no capacity, so even a draw of 0 does not end in it.
        while work >= self.left_ps * self.states[current].rate_per_ps {
            work -= self.left_ps * self.states[current].rate_per_ps;
            gap_ps += self.left_ps;
            current = 1 - current;
            self.left_ps = rng.exponential() * self.states[current].mean_ps;
        }
        let last_ps = work / self.states[current].rate_per_ps;
        self.left_ps -= last_ps;
        self.current = Some(current);
        self.carry.whole(gap_ps + last_ps)
    }

    /// Begins in each state with its share of the time.
    fn begin(&mut self, rng: &mut Rng) -> usize {
        let [calm, burst] = self.states;
        let current = usize::from(rng.unit() * (calm.mean_ps + burst.mean_ps) <= burst.mean_ps);
        self.left_ps = rng.exponential() * self.states[current].mean_ps;
        current
    }
}
