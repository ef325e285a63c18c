//! Random events: a probability compared with 32 random bits.

use serde::Deserialize;

/// A probability as a fraction.
///
/// # Examples
///
/// ```
/// use nebula_sim::memory::Odds;
///
/// assert_eq!(Odds { numerator: 3, denominator: 4 }.share(), 0.75);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Odds {
    /// How often it happens,
    pub numerator: u32,
    /// out of this many times.
    pub denominator: u32,
}

impl Odds {
    /// The probability, 0 to 1; NaN if the denominator is 0.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    pub(super) const fn is_possible(self) -> bool {
        self.denominator > 0 && self.numerator <= self.denominator
    }
}

/// A probability as a threshold for 32 random bits, accurate to 2⁻³³.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chance(u64);

const VALUES: f64 = (1_u64 << 32) as f64;

impl Chance {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^32, and rounding is meant")]
    pub(super) fn of(share: f64) -> Self {
        Self(libm::round(share.clamp(0.0, 1.0) * VALUES) as u64)
    }

    /// Whether it happens, given the next 32 random bits in the low half.
    #[inline]
    pub(super) const fn happens(self, bits: u64) -> bool {
        (bits & 0xffff_ffff) < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_and_always_are_exact() {
        for bits in [0, 1, u64::MAX, u64::from(u32::MAX)] {
            assert!(!Chance::of(0.0).happens(bits));
            assert!(Chance::of(1.0).happens(bits));
        }
    }

    #[test]
    fn a_quarter_is_the_lowest_quarter_of_the_bits() {
        let quarter = Chance::of(Odds { numerator: 25, denominator: 100 }.share());
        assert!(quarter.happens(0x3fff_ffff) && !quarter.happens(0x4000_0000));
    }
}
