//! `random`: each RPC draws a core. The papers' RSS baseline, and the d-FCFS of queueing theory.

use super::per_core::Choose;
use crate::hash::Rng;
use crate::id::CoreId;
use crate::wire::Header;

/// A generator with a fixed seed: the same arrivals draw the same cores.
#[derive(Clone, Debug)]
pub struct Random {
    cores: u32,
    rng: Rng,
}

impl Random {
    /// Draws from the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16, seed: u64) -> Self {
        Self { cores: u32::from(cores), rng: Rng::new(seed) }
    }
}

impl Choose for Random {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    fn choose(&mut self, _: &Header) -> CoreId {
        CoreId(self.rng.below(self.cores) as u16)
    }
}
