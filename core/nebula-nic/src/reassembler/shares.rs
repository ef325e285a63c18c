//! Limits the incomplete RPCs of one peer while others need the entries.

use crate::hash::{mix, reduce};
use crate::id::NodeId;
use alloc::boxed::Box;
use alloc::vec;

/// Peers are counted by a hash of their number, so that memory does not grow with them.
const COUNTS: u32 = 256;

#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// Empty if there is no limit.
    counts: Box<[u32]>,
    per_peer: u32,
    seed: u64,
}

impl Shares {
    pub(super) fn unlimited() -> Self {
        Self { counts: Box::default(), per_peer: u32::MAX, seed: 0 }
    }

    pub(super) fn limited(per_peer: u32, seed: u64) -> Self {
        Self { counts: vec![0; COUNTS as usize].into(), per_peer, seed }
    }

    pub(super) fn is_used_up(&self, snid: NodeId) -> bool {
        self.counts.get(self.place(snid)).is_some_and(|&count| count >= self.per_peer)
    }

    pub(super) fn may_hold(&self, snid: NodeId) -> bool {
        self.counts.get(self.place(snid)).is_none_or(|&count| count > 0)
    }

    pub(super) fn take(&mut self, snid: NodeId) {
        let place = self.place(snid);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

    pub(super) fn give_back(&mut self, snid: NodeId) {
        let place = self.place(snid);
        if let Some(count) = self.counts.get_mut(place) {
            *count -= 1;
        }
    }

    fn place(&self, snid: NodeId) -> usize {
        reduce(mix(u64::from(snid.0) ^ self.seed), COUNTS) as usize
    }
}
