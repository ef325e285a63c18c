//! The common part of policies that choose a core at arrival: a queue and credit per core.

use super::central::CentralDispatch;
use super::placement::{Placement, Queues};
use crate::arrival_queue::ArrivalQueue;
use crate::id::CoreId;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::vec;

/// The most RPCs given to a core with its own queue: one in service, and one to steer.
pub const PER_CORE_BOUND: u32 = 2;
/// The most RPCs in a core's queue in software, including those in service.
pub const STEALABLE_BOUND: u32 = 64;

/// A choice of core for an RPC, made when its first packet comes.
pub trait Choose {
    /// The core, below the number of cores given at construction.
    fn choose(&mut self, header: &Header) -> CoreId;

    /// The core, for a choice by load: `load` returns a core's waiting and outstanding RPCs.
    #[inline]
    fn choose_by_load(&mut self, header: &Header, _load: impl Fn(CoreId) -> u32) -> CoreId {
        self.choose(header)
    }
}

/// A policy with a queue per core: `C` chooses the queue.
#[derive(Clone, Debug)]
pub struct PerCore<C> {
    choice: C,
    outstanding: Box<[u32]>,
    bound: u32,
}

impl<C: Choose> PerCore<C> {
    /// All cores below `cores` idle.
    #[must_use]
    pub fn new(cores: u16, choice: C) -> Self {
        Self { choice, outstanding: vec![0; usize::from(cores)].into(), bound: PER_CORE_BOUND }
    }

    /// The same with [`STEALABLE_BOUND`] RPCs per core: its queue is in memory, open to others.
    #[must_use]
    pub fn stealable(cores: u16, choice: C) -> Self {
        Self::bounded(cores, choice, STEALABLE_BOUND)
    }

    /// The same with `bound` RPCs per core: its queue is a ring in memory of as many entries.
    #[must_use]
    pub fn bounded(cores: u16, choice: C, bound: u32) -> Self {
        Self { bound, ..Self::new(cores, choice) }
    }
}

impl<C: Choose> CentralDispatch for PerCore<C> {
    fn queues(&self) -> Queues {
        Queues::PerCore
    }

    #[inline]
    fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
        let Self { choice, outstanding, .. } = self;
        let load = |core: CoreId| waiting.waiting_at(Placement::Core(core)) + outstanding[core.index()];
        Placement::Core(choice.choose_by_load(header, load))
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
        self.bound
    }
}
