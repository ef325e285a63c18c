//! What policies that choose a core at arrival have in common: a queue a core, and credit a core.

use super::{CentralDispatch, Placement, Queues};
use crate::id::CoreId;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::vec;

/// RPCs that a core with its own queue is given at most: one in service, and one behind it to steer.
pub const PER_CORE_BOUND: u32 = 2;

/// A choice of core for an RPC, made when its first packet comes.
pub trait Choose {
    /// The core, below the number of cores given at construction.
    fn choose(&mut self, header: &Header) -> CoreId;
}

/// A policy with a queue a core: `C` chooses the queue.
#[derive(Clone, Debug)]
pub struct PerCore<C> {
    choice: C,
    outstanding: Box<[u32]>,
}

impl<C: Choose> PerCore<C> {
    /// All cores below `cores` idle.
    #[must_use]
    pub fn new(cores: u16, choice: C) -> Self {
        Self { choice, outstanding: vec![0; usize::from(cores)].into() }
    }
}

impl<C: Choose> CentralDispatch for PerCore<C> {
    fn queues(&self) -> Queues {
        Queues::PerCore
    }

    #[inline]
    fn place(&mut self, header: &Header) -> Placement {
        Placement::Core(self.choice.choose(header))
    }

    #[inline]
    fn pick(&mut self) -> Option<CoreId> {
        None
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        self.outstanding[core.index()] += 1;
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        self.outstanding[core.index()] -= 1;
    }

    #[inline]
    fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding.get(core.index()).copied().unwrap_or(0)
    }

    #[inline]
    fn bound(&self) -> u32 {
        PER_CORE_BOUND
    }
}
