//! The generator of random inputs: the same from one seed on every machine.

/// The hash of a key: the finalizer of SplitMix64.
#[must_use]
pub const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with that seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `below`.
    pub fn below(&mut self, below: u32) -> u32 {
        u32::try_from(((self.word() >> 32) * u64::from(below)) >> 32).expect("below a u32")
    }

    /// Whether a case of `percent` probability happens.
    pub fn happens(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// An index below `count`, which is at least 1.
    pub fn which(&mut self, count: usize) -> usize {
        self.below(u32::try_from(count).expect("few")) as usize
    }
}
