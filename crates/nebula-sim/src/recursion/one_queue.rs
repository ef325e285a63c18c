//! One queue for all cores: an RPC is dispatched when it has arrived and the NIC knows of a core that is free.

use super::block::Block;
use super::first_free::FirstFree;
use super::{Recursion, Terms};
use crate::system::SLOTS_LAST;

/// The state of the recursion: when the NIC knows of each core that it is free, and who waits.
#[derive(Clone, Debug)]
pub(super) struct OneQueue {
    free: FirstFree,
    terms: Terms,
    waiting: Waiting,
}

impl OneQueue {
    /// All cores below `cores` idle.
    pub(super) fn new(cores: u16, terms: Terms) -> Self {
        Self { free: FirstFree::new(cores), terms, waiting: Waiting::new() }
    }
}

/// RPCs of a block: draws, recursion and statistics of this many stay in the first cache.
const BLOCK_RPCS: usize = 512;

impl Recursion for OneQueue {
    fn block_rpcs(&self) -> usize {
        BLOCK_RPCS
    }

    fn serve(&mut self, block: &mut Block) -> bool {
        if !self.waiting.reserve(block.arrived.len()) {
            return false;
        }
        let Self { free, terms: Terms { dispatch, receive, notify }, waiting } = self;
        let drawn = block.arrived.iter().zip(&block.service);
        let served = block.begun.iter_mut().zip(&mut block.ended).zip(&mut block.found);
        for ((&arrived, &service), ((begun, ended), found)) in drawn.zip(served) {
            *found = waiting.found(arrived);
            let dispatched = free.first_ps().max(arrived);
            waiting.push(arrived, dispatched);
            *begun = dispatched.saturating_add(*dispatch);
            *ended = begun.saturating_add(*receive).saturating_add(service);
            free.replace(ended.saturating_add(*notify));
        }
        true
    }
}

/// The RPCs that wait, by when they are dispatched: a FIFO, since they are dispatched in the order of their arrival.
#[derive(Clone, Debug)]
struct Waiting {
    /// A ring whose length is a power of two. What is not in use, for [`AHEAD`] places at least, is [`NEVER`].
    dispatched: Box<[u64]>,
    head: usize,
    tail: usize,
}

/// Entries that are looked at together.
const AHEAD: usize = 4;
const NEVER: u64 = u64::MAX;
const PLACES_FIRST: usize = 2048;

impl Waiting {
    fn new() -> Self {
        Self { dispatched: vec![NEVER; PLACES_FIRST].into(), head: 0, tail: 0 }
    }

    /// Makes room for `more` RPCs; `false` beyond what a run can hold.
    fn reserve(&mut self, more: usize) -> bool {
        let wanted = self.tail - self.head + more + AHEAD;
        if wanted > self.dispatched.len() {
            let len = wanted.next_power_of_two();
            let mut longer = vec![NEVER; len];
            for place in self.head..self.tail {
                longer[place & (len - 1)] = self.dispatched[place & (self.dispatched.len() - 1)];
            }
            self.dispatched = longer.into();
        }
        self.tail - self.head <= SLOTS_LAST as usize
    }

    /// How many wait at `now`, after those that have been dispatched have left.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "no more than fit in a run")]
    fn found(&mut self, now: u64) -> u32 {
        let mask = self.dispatched.len() - 1;
        loop {
            // They are in order, so those of the next that have left are the first ones; none is `NEVER`.
            let left: [bool; AHEAD] = std::array::from_fn(|next| self.dispatched[(self.head + next) & mask] <= now);
            let left: usize = left.map(usize::from).iter().sum();
            self.head += left;
            if left < AHEAD {
                return (self.tail - self.head) as u32;
            }
        }
    }

    /// An RPC that arrives now is dispatched at `dispatched`; it waits unless that is now.
    #[inline(always)]
    fn push(&mut self, now: u64, dispatched: u64) {
        let mask = self.dispatched.len() - 1;
        let waits = dispatched > now;
        self.dispatched[self.tail & mask] = if waits { dispatched } else { NEVER };
        self.dispatched[(self.tail + AHEAD) & mask] = NEVER;
        self.tail += usize::from(waits);
    }
}
