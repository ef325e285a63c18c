//! One lane, and the numbers of all lanes.

use crate::recursion::lanes::counts::Counts;
use crate::world::length::Length;
use nebula_workload::Seed;
use pulp::Simd;

/// Runs side by side.
pub const LANES: usize = 8;

/// RPCs of a block: the draws of all lanes for it fit the first-level cache.
pub(crate) const BLOCK: usize = 64;

pub(crate) type Each<T> = [T; LANES];

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
    /// Offered load as a share of the cores' capacity.
    pub load: f64,
    /// RPCs of the warm-up and of the measured window.
    pub length: Length,
    /// Seed of its draws.
    pub seed: Seed,
}

pub(super) trait Serve {
    /// Serves a block that arrives at `arrived`, and counts the RPCs that are on time.
    fn serve<V: Simd>(&mut self, vectors: V, arrived: &[Each<f64>; BLOCK], counts: &mut Counts);
}

/// The larger of two times: one vector instruction, unlike `f64::max`, which handles NaN.
#[inline(always)]
pub(crate) fn later(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// The whole part of a number from 0 to 2⁵², in vector operations that every x86-64 has.
#[inline(always)]
pub(crate) fn floor(number: f64) -> f64 {
    let nearest = (number + TIME_MAX) - TIME_MAX;
    nearest - if nearest > number { 1.0 } else { 0.0 }
}

/// The bits of a whole number from 0 to 2⁵² as an integer.
#[inline(always)]
pub(crate) fn whole(number: f64) -> u64 {
    (number + TIME_MAX).to_bits() & ((1 << TIME_BITS) - 1)
}

/// Bits of a time: whole picoseconds in an `f64`, or in its fraction.
pub(crate) const TIME_BITS: u32 = 52;

pub(crate) const TIME_MAX: f64 = (1_u64 << TIME_BITS) as f64;
