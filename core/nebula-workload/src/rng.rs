//! Random numbers from a seed, in named streams.
//!
//! A run has one [`Seed`]. Each component draws from its own stream, chosen by name, so that a
//! further component, or more draws in one, does not shift the others: two dispatch policies
//! compared under one seed get the same arrivals, keys and service times. The generator is
//! xoshiro256++; its output is the same on every machine.

use crate::streams::fill_exponential_alone;
use rand_core::RngCore;
use rand_distr::{Distribution, Exp1};

/// The number that determines all randomness of a run.
///
/// # Examples
///
/// ```
/// use nebula_workload::Seed;
///
/// let seed = Seed(42);
/// let mut arrivals = seed.stream("arrivals");
/// assert_eq!(arrivals.next_u64(), seed.stream("arrivals").next_u64());
/// assert_ne!(arrivals.next_u64(), seed.stream("keys").next_u64());
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream called `name`, from its beginning.
    #[must_use]
    pub fn stream(self, name: &str) -> Rng {
        Rng::seeded(self.derive(fnv1a(name.as_bytes())))
    }

    /// The seed of the replication or client number `index`. Two clients at half the rate, each
    /// with a replica of one seed, are independent of each other and as repeatable as one client.
    #[must_use]
    pub fn replica(self, index: u64) -> Self {
        Self(self.derive(scramble(!index)))
    }

    fn derive(self, salt: u64) -> u64 {
        scramble(scramble(self.0).wrapping_add(salt))
    }
}

/// A stream of random numbers.
///
/// # Examples
///
/// ```
/// use nebula_workload::Seed;
///
/// let mut rng = Seed(1).stream("dice");
/// assert!((1..=6).contains(&(1 + rng.below(6))));
/// assert!(rng.unit() > 0.0);
/// ```
#[derive(Clone, Debug)]
pub struct Rng(pub(crate) [u64; 4]);

/// Draws buffered between the loop that draws and the loop that uses them: 1 KiB.
const EXPONENTIALS: usize = 128;

impl Rng {
    /// The state is the first four numbers of SplitMix64, as the generator's authors advise.
    fn seeded(seed: u64) -> Self {
        Self(std::array::from_fn(|index| scramble(seed.wrapping_add(WEYL.wrapping_mul(index as u64)))))
    }

    /// Draws 64 random bits.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        let (drawn, next) = advance(self.0);
        self.0 = next;
        drawn
    }

    /// Draws a number in `(0, 1]`, a multiple of 2⁻⁵³: never 0, so that its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// Draws from the exponential distribution with mean 1: one draw and no logarithm, except in 1
    /// of 90 draws. At most 7.7 + 36.7, the limit of 53 random bits.
    // Without its feature `std`, `rand_distr` uses `libm`'s logarithm instead of the system's: the
    // same numbers on every machine.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(self)
    }

    /// Fills `draws` from the exponential distribution with mean 1, with the numbers of as many
    /// calls of [`exponential`](Self::exponential). Takes some 25 instructions a number, less than
    /// half of a call's.
    pub fn fill_exponential(&mut self, draws: &mut [f64]) {
        fill_exponential_alone(self, draws);
    }

    /// Fills `times` by applying `law` to draws from the exponential distribution with mean 1.
    #[inline(always)]
    pub(crate) fn fill_by_exponential<T>(&mut self, times: &mut [T], mut law: impl FnMut(f64) -> T) {
        let mut draws = [0.0; EXPONENTIALS];
        for times in times.chunks_mut(EXPONENTIALS) {
            let draws = &mut draws[..times.len()];
            self.fill_exponential(draws);
            times.iter_mut().zip(draws).for_each(|(time, draw)| *time = law(*draw));
        }
    }

    /// Draws a number in `0..bound`, each equally likely; 0 if `bound` is 0. Takes one draw and one
    /// multiplication; a second draw with probability below `bound` / 2⁶⁴.
    //
    // Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut wide = self.widened(bound);
        if low_half(wide) < bound {
            // The lowest `2^64 mod bound` products of each row would favor some numbers.
            let unfair = bound.wrapping_neg() % bound;
            while low_half(wide) < unfair {
                wide = self.widened(bound);
            }
        }
        high_half(wide)
    }

    fn widened(&mut self, bound: u64) -> u128 {
        u128::from(self.next_u64()) * u128::from(bound)
    }
}

/// Lets the distributions of the `rand` family draw from a named stream.
impl RngCore for Rng {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        u32::try_from(self.next_u64() >> 32).expect("32 bits")
    }

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        Self::next_u64(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        rand_core::impls::fill_bytes_via_next(self, bytes);
    }
}

/// One step of xoshiro256++: the number drawn, and the state after it.
// Own code, so that many streams can take their steps together: `streams`. Source: D. Blackman, S.
// Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021.
#[inline(always)]
pub(crate) const fn advance([a, b, c, d]: [u64; 4]) -> (u64, [u64; 4]) {
    let drawn = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
    let (c, d) = (c ^ a, d ^ b);
    (drawn, [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)])
}

/// The state before a step.
pub(crate) const fn retreat([a, b, c, d]: [u64; 4]) -> [u64; 4] {
    let d = d.rotate_right(45);
    let a = a ^ d;
    // b and c became b ^ c and c ^ (b << 17): together b ^ (b << 17).
    let mixed = b ^ c;
    let before = mixed ^ (mixed << 17) ^ (mixed << 34) ^ (mixed << 51);
    [a, before, b ^ before ^ a, d ^ before]
}

/// 2⁻⁵³, the spacing of the numbers `unit` draws: an `f64` has 53 significant bits.
const UNIT_STEP: f64 = 1.0 / (1u64 << 53) as f64;

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low_half(wide: u128) -> u64 {
    wide as u64
}

fn high_half(wide: u128) -> u64 {
    (wide >> 64) as u64
}

/// The step of SplitMix64.
const WEYL: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes all bits of a number into all others, one to one (the finalizer of SplitMix64).
pub(crate) const fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(WEYL);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes a name to 64 bits, the same on every machine and in every version (FNV-1a).
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_is_the_step_before() {
        let mut state = Rng::seeded(1).0;
        for _ in 0..1000 {
            let next = advance(state).1;
            assert_eq!(retreat(next), state);
            state = next;
        }
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus_seeded_by_splitmix64() {
        use rand_core::SeedableRng;
        for seed in [0, 1, 42, u64::MAX] {
            let (mut ours, mut theirs) = (Rng::seeded(seed), rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed));
            for _ in 0..1000 {
                assert_eq!((ours.next_u64(), ours.next_u32()), (theirs.next_u64(), theirs.next_u32()));
            }
            let (mut bytes, mut expected) = ([0; 13], [0; 13]);
            ours.fill_bytes(&mut bytes);
            theirs.fill_bytes(&mut expected);
            assert_eq!(bytes, expected);
        }
    }
}
