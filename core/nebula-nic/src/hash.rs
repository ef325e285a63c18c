//! Hashing of keys, and the generator of random choices: fixed by a seed, equal on all machines.

/// Spreads every bit of `key` over the word (the finalizer of SplitMix64, a bijection).
#[must_use]
#[inline]
pub const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// Maps a well-mixed word to `0..below` without a division.
#[must_use]
#[inline]
pub const fn reduce(mixed: u64, below: u32) -> u32 {
    (((mixed >> 32) * below as u64) >> 32) as u32
}

/// SplitMix64: one addition and one [`mix`] per number.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of this seed.
    #[must_use]
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "the numbers never end")]
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..below`, biased by less than `below / 2^32`.
    #[inline]
    pub fn below(&mut self, below: u32) -> u32 {
        reduce(self.next(), below)
    }
}
