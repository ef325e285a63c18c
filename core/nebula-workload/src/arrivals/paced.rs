//! Equal gaps: `paced`.

use nebula_nic::Span;

use super::gap::PS_PER_SEC;
use crate::rate::Rate;

/// Equal gaps by Bresenham's algorithm: `whole` picoseconds each, and one more whenever the
/// remainders add up to one.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    whole_ps: u64,
    /// The excess of a gap over `whole_ps`, in units of 1/`unit` ps.
    remainder: u64,
    unit: u64,
    owed: u64,
}

impl Paced {
    /// Rates are rounded to the nearest 2⁻²⁰ RPC/s; whole numbers are exact.
    const RATE_SCALE: u64 = 1 << 20;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is at most 1e12, times 2^20")]
    pub(super) fn new(rate: Rate) -> Self {
        let unit = libm::round(rate.as_rps() * Self::RATE_SCALE as f64) as u64;
        let second = PS_PER_SEC * Self::RATE_SCALE;
        Self { whole_ps: second / unit, remainder: second % unit, unit, owed: 0 }
    }

    #[inline]
    pub(super) fn next_gap(&mut self) -> Span {
        self.owed += self.remainder;
        let extra_ps = u64::from(self.owed >= self.unit);
        self.owed -= extra_ps * self.unit;
        Span::from_ps(self.whole_ps + extra_ps)
    }
}

// A second in scaled picoseconds, and the sum of two remainders, stay within 64 bits.
const _: () = assert!(PS_PER_SEC < u64::MAX / 2 / Paced::RATE_SCALE);
