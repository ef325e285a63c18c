//! `single-queue`: one queue, and an idle core takes the head. The ideal of queueing theory
//! (c-FCFS), equal to `jbsq:1`.

use super::central::CentralDispatch;
use super::placement::{Placement, Queues};
use crate::arrival_queue::ArrivalQueue;
use crate::core_set::CoreSet;
use crate::id::CoreId;
use crate::wire::Header;

/// The idle cores.
#[derive(Clone, Debug)]
pub struct SingleQueue {
    idle: CoreSet,
    cores: u16,
}

impl SingleQueue {
    /// All cores below `cores` idle.
    #[must_use]
    pub fn new(cores: u16) -> Self {
        Self { idle: CoreSet::full(cores), cores }
    }
}

impl CentralDispatch for SingleQueue {
    fn queues(&self) -> Queues {
        Queues::Shared
    }

    #[inline]
    fn place(&mut self, _: &Header, _: &ArrivalQueue) -> Placement {
        Placement::Shared
    }

    #[inline]
    fn pick(&mut self) -> Option<CoreId> {
        self.idle.first()
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        self.idle.remove(core);
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        self.idle.insert(core);
    }

    #[inline]
    fn outstanding(&self, core: CoreId) -> u32 {
        u32::from(core.0 < self.cores && !self.idle.contains(core))
    }

    #[inline]
    fn bound(&self) -> u32 {
        1
    }
}
