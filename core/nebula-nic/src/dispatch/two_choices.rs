//! `two-choices`: two cores are drawn at random, and the RPC joins the shorter queue. The tail
//! latency is close to that of much better balanced queues (Mitzenmacher 2001).
//!
//! A policy that gives each core a queue only chooses the core; [`PerCore`](super::PerCore) does
//! the rest: credit, order, admission.

use super::per_core::Choose;
use crate::hash::Rng;
use crate::id::CoreId;
use crate::wire::Header;

/// A generator with a fixed seed: the same arrivals draw the same pairs.
#[derive(Clone, Debug)]
pub struct TwoChoices {
    cores: u32,
    rng: Rng,
}

impl TwoChoices {
    /// Draws from the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16, seed: u64) -> Self {
        Self { cores: u32::from(cores), rng: Rng::new(seed) }
    }
}

impl Choose for TwoChoices {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    fn choose(&mut self, _: &Header) -> CoreId {
        CoreId(self.rng.below(self.cores) as u16)
    }

    /// Of two equally loaded cores, the first: it was drawn at random too.
    #[inline]
    fn choose_by_load(&mut self, header: &Header, load: impl Fn(CoreId) -> u32) -> CoreId {
        let (first, second) = (self.choose(header), self.choose(header));
        if load(second) < load(first) { second } else { first }
    }
}
