//! `rss`: the core is a hash of the sender. All RPCs of a node go to one core, even a busy one.
//!
//! Departs: the papers' RSS baseline draws a core for each message; a NIC hashes the flow, and the
//! flow here is the source node. The papers' draw is `random`.

use super::per_core::Choose;
use crate::hash::{mix, reduce};
use crate::id::CoreId;
use crate::wire::Header;

/// A hash of the source node.
#[derive(Clone, Debug)]
pub struct Rss {
    cores: u32,
    seed: u64,
}

impl Rss {
    /// Spreads senders over the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16, seed: u64) -> Self {
        Self { cores: u32::from(cores), seed }
    }
}

impl Choose for Rss {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    fn choose(&mut self, header: &Header) -> CoreId {
        CoreId(reduce(mix(u64::from(header.snid.0) ^ self.seed), self.cores) as u16)
    }
}
