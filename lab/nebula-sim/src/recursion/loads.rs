//! The number of RPCs at a core, for policies that choose by it.

use nebula_nic::CoreId;
use std::collections::VecDeque;

pub(super) trait Loads {
    /// RPCs that the NIC counts at a core at `now`, those that wait for the core included.
    fn load(&self, core: CoreId, now: u64) -> u32;

    /// Gives a core an RPC at `now`; the NIC knows of its end at `known`.
    fn give(&mut self, core: CoreId, now: u64, known: u64);
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NotAsked;

impl Loads for NotAsked {
    #[inline(always)]
    fn load(&self, _: CoreId, _: u64) -> u32 {
        0
    }

    #[inline(always)]
    fn give(&mut self, _: CoreId, _: u64, _: u64) {}
}

/// By core: when the NIC knows of the end of each of its RPCs, in order.
#[derive(Clone, Debug)]
pub(super) struct Known(Box<[VecDeque<u64>]>);

impl Known {
    pub(super) fn new(cores: u16) -> Self {
        Self(vec![VecDeque::new(); usize::from(cores)].into())
    }
}

impl Loads for Known {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "no more than fit in a run")]
    fn load(&self, core: CoreId, now: u64) -> u32 {
        let ends = &self.0[core.index()];
        (ends.len() - ends.partition_point(|&known| known <= now)) as u32
    }

    #[inline(always)]
    fn give(&mut self, core: CoreId, now: u64, known: u64) {
        let ends = &mut self.0[core.index()];
        while ends.front().is_some_and(|&known| known <= now) {
            ends.pop_front();
        }
        ends.push_back(known);
    }
}
