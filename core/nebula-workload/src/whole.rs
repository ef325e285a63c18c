//! Whole picoseconds out of `f64`s, in operations that every machine has for vectors.

use nebula_nic::Span;

/// The spacing of numbers from here on is 1: a sum with a smaller one is a whole number.
pub(crate) const WHOLE: f64 = (1_u64 << 52) as f64;

/// A draw from the exponential distribution is at most 44.4 times its mean, so times of such a mean
/// are below 2⁵² ps.
pub(crate) const MEAN_PS_SHORT: f64 = (1_u64 << 46) as f64;

/// The largest whole number not above `number`, from 0 to 2⁵².
#[inline(always)]
pub(crate) fn floor(number: f64) -> f64 {
    let nearest = (number + WHOLE) - WHOLE;
    nearest - if nearest > number { 1.0 } else { 0.0 }
}

/// The span of a whole number of picoseconds below 2⁵².
#[inline(always)]
pub(crate) fn span(ps: f64) -> Span {
    Span::from_ps((ps + WHOLE).to_bits() & ((1 << 52) - 1))
}

/// Rounds a time to the nearest picosecond, a negative one to 0, a too long one to [`Span::MAX`].
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates at both ends"
)]
pub(crate) fn rounded(ps: f64) -> Span {
    Span::from_ps((ps + 0.5) as u64)
}

/// The same below 2⁵² picoseconds, in operations that every machine has for vectors.
#[inline(always)]
pub(crate) fn rounded_in_vectors(ps: f64) -> f64 {
    floor(ps + 0.5)
}
