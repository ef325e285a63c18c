//! Rounds exact gaps to whole picoseconds, without drift.

use crate::whole::{WHOLE, span};
use nebula_nic::Span;

/// The fraction of a picosecond that truncation removed from earlier gaps, in `0..1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Carry(f64);

impl Carry {
    /// Truncates a gap, at most 2⁶³ ps or 106 days, to whole picoseconds; carries the rest over.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "truncation is intended; it takes one instruction for an i64, eight for a u64"
    )]
    pub(super) fn whole(&mut self, gap_ps: f64) -> Span {
        let exact_ps = gap_ps + self.0;
        let whole_ps = exact_ps as i64;
        self.0 = if exact_ps < WHOLE {
            // The same without an integer in between, which the next gap would wait for.
            let nearest_ps = (exact_ps + WHOLE) - WHOLE;
            exact_ps - nearest_ps + if nearest_ps > exact_ps { 1.0 } else { 0.0 }
        } else {
            // The excess over the longest gap is not carried.
            (exact_ps - whole_ps as f64).min(1.0)
        };
        Span::from_ps(whole_ps.unsigned_abs())
    }

    /// The same for a gap below 2⁵² - 1 ps, in half the instructions.
    #[inline(always)]
    pub(super) fn whole_of_short(&mut self, gap_ps: f64) -> Span {
        let exact_ps = gap_ps + self.0;
        let nearest_ps = (exact_ps + WHOLE) - WHOLE;
        let one_below = if nearest_ps > exact_ps { 1.0 } else { 0.0 };
        // Not by way of the whole number: the next gap waits for it.
        self.0 = exact_ps - nearest_ps + one_below;
        span(nearest_ps - one_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn below_2_to_the_52_the_carry_is_what_the_integer_leaves() {
        let mut rng = Seed(3).stream("gaps");
        let (mut carry, mut short, mut general) = (Carry::default(), Carry::default(), 0.0);
        for step in 0..200_000 {
            let gap_ps = rng.exponential() * f64::from(1_u32 << (step % 32)) * f64::from(1_u32 << (step % 20));
            let exact_ps = gap_ps + general;
            let whole_ps = libm::trunc(exact_ps);
            general = exact_ps - whole_ps;
            assert_eq!(carry.whole(gap_ps).as_ps() as f64, whole_ps);
            assert_eq!(carry.0, general, "after {gap_ps}");
            if exact_ps < WHOLE - 1.0 {
                let of_short = (short.whole_of_short(gap_ps).as_ps() as f64, short.0);
                assert_eq!(of_short, (whole_ps, general), "after {gap_ps}");
            }
            short.0 = general;
        }
        // Whole numbers leave nothing, and the excess over the longest gap is not carried.
        let mut carry = Carry::default();
        for gap_ps in [0.0, 1.0, WHOLE - 1.0, WHOLE, 2.0 * WHOLE] {
            assert_eq!((carry.whole(gap_ps).as_ps() as f64, carry.0), (gap_ps, 0.0));
        }
        carry.whole(f64::MAX);
        assert_eq!(carry.0, 1.0);
    }
}
