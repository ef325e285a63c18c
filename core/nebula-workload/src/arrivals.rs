//! The arrival times of RPCs.
//!
//! An [`Arrivals`] names a kind of arrivals and has one spelling everywhere; [`Arrivals::at`] gives
//! it a rate and makes an [`ArrivalProcess`], which draws one gap after another. Gaps are whole
//! picoseconds; the rounding error of one is carried to the next, so that the sum of many does not
//! drift from the rate.
//!
//! | spelling | meaning |
//! |---|---|
//! | `poisson` | independent exponential gaps |
//! | `paced`, `deterministic` | equal gaps |
//! | `packets:8` | RPCs of 8 packets on one link: 7 fixed packet gaps and an exponential one |
//! | `mmpp2:5x,0.1,100us` | Poisson at two rates: a tenth of the time in bursts of 100 µs on average, at five times the calm rate |
//! | `on-off:100us,300us` | Poisson while on, silent while off; exponential periods with these means |
//! | `trace:FILE` | recorded arrivals, scaled to the rate and repeated |
//!
//! # How to add a kind
//!
//! Add a variant to [`Arrivals`] and its word to `arrivals/parse.rs`, a variant with its state to
//! `Process`, and a file with its draw; `tests/arrivals.rs` instantiates the conformance suite once
//! per kind.

mod carry;
mod gap;
mod renewal;
mod paced;
pub(crate) mod modulated;
pub(crate) mod recorded;
mod parse;

use std::fmt;
use std::num::NonZeroU32;

use nebula_nic::Span;

use crate::rate::Rate;
use crate::rng::Rng;
use modulated::Modulated;
pub use modulated::{Mmpp2, OnOff};
use paced::Paced;
pub use recorded::ArrivalTrace;
use recorded::Recorded;
use renewal::{Packets, Poisson};

/// A kind of arrivals: see the [spellings](self).
///
/// # Examples
///
/// ```
/// use nebula_workload::{Arrivals, Rate, Seed};
///
/// let arrivals: Arrivals = "paced".parse()?;
/// let mut process = arrivals.at(Rate::try_new(2_000_000.0)?);
/// let gap = process.next_gap(&mut Seed(1).stream("arrivals"));
/// assert_eq!(gap.as_ps(), 500_000);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// Independent exponential gaps: many independent clients.
    #[default]
    Poisson,
    /// Equal gaps: the most regular load.
    Paced,
    /// RPCs of this many packets each. All gaps between packets are fixed, except the one before an
    /// RPC's first packet, which is exponential with the same mean. The squared CV of the gaps
    /// between RPCs is 1/packets².
    Packets(NonZeroU32),
    /// Poisson arrivals whose rate changes between two values.
    Mmpp2(Mmpp2),
    /// Poisson arrivals that pause.
    OnOff(OnOff),
    /// Recorded arrivals.
    Trace(ArrivalTrace),
}

impl Arrivals {
    /// Starts arrivals of this kind at `rate` on average.
    #[must_use]
    pub fn at(&self, rate: Rate) -> ArrivalProcess {
        ArrivalProcess(match self {
            Self::Poisson => Process::Poisson(Poisson::new(rate)),
            Self::Paced => Process::Paced(Paced::new(rate)),
            Self::Packets(packets) => Process::Packets(Packets::new(*packets, rate)),
            Self::Mmpp2(mmpp2) => Process::Modulated(mmpp2.at(rate)),
            Self::OnOff(on_off) => Process::Modulated(on_off.at(rate)),
            Self::Trace(trace) => Process::Recorded(Recorded::new(trace, rate)),
        })
    }
}

/// The spelling that parses to the same kind.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => f.pad("poisson"),
            Self::Paced => f.pad("paced"),
            Self::Packets(packets) => f.pad(&format!("packets:{packets}")),
            Self::Mmpp2(mmpp2) => f.pad(&mmpp2.to_string()),
            Self::OnOff(on_off) => f.pad(&on_off.to_string()),
            Self::Trace(trace) => f.pad(&format!("trace:{}", trace.name())),
        }
    }
}

/// A running arrival process of one kind at one rate.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::{Arrivals, Rate, Seed};
///
/// let mut process = Arrivals::Paced.at(Rate::try_new(3.0)?);
/// let mut rng = Seed(1).stream("arrivals");
/// let three: Span = (0..3).map(|_| process.next_gap(&mut rng)).sum();
/// assert_eq!(three, Span::from_secs(1));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrivalProcess(Process);

#[derive(Clone, Debug)]
enum Process {
    Poisson(Poisson),
    Paced(Paced),
    Packets(Packets),
    Modulated(Modulated),
    Recorded(Recorded),
}

impl ArrivalProcess {
    /// Draws the time from one arrival to the next, at first from the start of the load. Cost: no
    /// allocation. `poisson` and `packets` take one draw and one logarithm, `paced` and `trace` no
    /// draw; `mmpp2` and `on-off` take one more per change of state, on average at most 200 per
    /// gap.
    #[inline]
    pub fn next_gap(&mut self, rng: &mut Rng) -> Span {
        match &mut self.0 {
            Process::Poisson(process) => process.next_gap(rng),
            Process::Paced(process) => process.next_gap(),
            Process::Packets(process) => process.next_gap(rng),
            Process::Modulated(process) => process.next_gap(rng),
            Process::Recorded(process) => process.next_gap(),
        }
    }

    /// Draws `gaps.len()` gaps, as many calls of [`next_gap`](Self::next_gap) would, but faster.
    pub fn fill(&mut self, rng: &mut Rng, gaps: &mut [Span]) {
        match &mut self.0 {
            Process::Poisson(process) => process.fill(rng, gaps),
            Process::Paced(process) => gaps.fill_with(|| process.next_gap()),
            Process::Packets(process) => gaps.fill_with(|| process.next_gap(rng)),
            Process::Modulated(process) => gaps.fill_with(|| process.next_gap(rng)),
            Process::Recorded(process) => gaps.fill_with(|| process.next_gap()),
        }
    }
}
