//! One queue for all cores: an RPC is dispatched when it has arrived and the NIC knows of a core that is free.

use super::block::Block;
use super::first_free::FirstFree;
use super::waiting::Waiting;
use super::{Recursion, Terms};

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
