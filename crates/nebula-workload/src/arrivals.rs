//! When does the next RPC arrive?
//!
//! An [`Arrivals`] names a kind of arrivals and has one spelling everywhere; [`Arrivals::at`] gives it a rate
//! and makes an [`ArrivalProcess`] that draws one gap after the other. Gaps are whole picoseconds, and what
//! rounding takes from one gap is given to the next, so that the sum of many gaps does not drift from the rate.
//!
//! # How to add a kind
//!
//! A variant in [`Arrivals`] with its word in `SPELLINGS`, a variant in `Process` with its state, and a file with
//! its draw if that is longer than a few lines; `tests/arrivals.rs` instantiates the conformance suite once a kind.

use std::fmt;
use std::str::FromStr;

use nebula_nic::Span;

use crate::{Rate, Rng, WorkloadError};

/// A kind of arrivals: `poisson` or `paced`.
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
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrivals {
    /// Independent exponential gaps: many clients that know nothing of each other.
    #[default]
    Poisson,
    /// Equal gaps: the steadiest load there is.
    Paced,
}

impl Arrivals {
    const SPELLINGS: [(Self, &'static str); 2] = [(Self::Poisson, "poisson"), (Self::Paced, "paced")];

    /// Begins arrivals of this kind at `rate`.
    #[must_use]
    pub fn at(self, rate: Rate) -> ArrivalProcess {
        ArrivalProcess(match self {
            Self::Poisson => Process::Poisson(Poisson::new(rate)),
            Self::Paced => Process::Paced(Paced::new(rate)),
        })
    }
}

impl FromStr for Arrivals {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::SPELLINGS
            .iter()
            .find_map(|&(kind, word)| (word == text).then_some(kind))
            .ok_or_else(|| WorkloadError::spelling("arrivals", text, "poisson or paced"))
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Poisson => "poisson",
            Self::Paced => "paced",
        })
    }
}

/// Arrivals of one kind at one rate, under way.
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
}

impl ArrivalProcess {
    /// Draws the time from one arrival to the next.
    ///
    /// The first gap leads from the start of the load to its first arrival.
    ///
    /// # Cost
    ///
    /// O(1), no allocation; `poisson` takes one draw and one logarithm, `paced` no draw.
    #[inline]
    pub fn next_gap(&mut self, rng: &mut Rng) -> Span {
        match &mut self.0 {
            Process::Poisson(process) => process.next_gap(rng),
            Process::Paced(process) => process.next_gap(),
        }
    }
}

const PS_PER_SEC: u64 = 1_000_000_000_000;

#[derive(Clone, Debug)]
struct Poisson {
    gap_ps_mean: f64,
    /// The fraction of a picosecond that earlier gaps were cut by, in `0..1`.
    carry_ps: f64,
}

impl Poisson {
    fn new(rate: Rate) -> Self {
        Self { gap_ps_mean: PS_PER_SEC as f64 / rate.as_rps(), carry_ps: 0.0 }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 37 times 1e15 ps, and whole")]
    fn next_gap(&mut self, rng: &mut Rng) -> Span {
        // `libm` and not the system's logarithm: the same gaps on every machine.
        let exact_ps = -libm::log(rng.unit()) * self.gap_ps_mean + self.carry_ps;
        let whole_ps = libm::floor(exact_ps);
        self.carry_ps = exact_ps - whole_ps;
        Span::from_ps(whole_ps as u64)
    }
}

/// Equal gaps by Bresenham's line: `whole` picoseconds each, and one more whenever the remainders add up to one.
#[derive(Clone, Debug)]
struct Paced {
    whole_ps: u64,
    /// What a gap exceeds `whole_ps` by, in units of 1/`unit` ps.
    remainder: u64,
    unit: u64,
    owed: u64,
}

impl Paced {
    /// Rates are taken to the nearest 2⁻²⁰ RPC/s: a whole number of them is exact.
    const RATE_SCALE: u64 = 1 << 20;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is at most 1e12, times 2^20")]
    fn new(rate: Rate) -> Self {
        let unit = libm::round(rate.as_rps() * Self::RATE_SCALE as f64) as u64;
        let second = PS_PER_SEC * Self::RATE_SCALE;
        Self { whole_ps: second / unit, remainder: second % unit, unit, owed: 0 }
    }

    fn next_gap(&mut self) -> Span {
        self.owed += self.remainder;
        let extra_ps = u64::from(self.owed >= self.unit);
        self.owed -= extra_ps * self.unit;
        Span::from_ps(self.whole_ps + extra_ps)
    }
}

// A second in scaled picoseconds, and the sum of two remainders, stay within 64 bits.
const _: () = assert!(PS_PER_SEC < u64::MAX / 2 / Paced::RATE_SCALE);
