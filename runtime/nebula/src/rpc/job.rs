//! An RPC between engine and worker: the messages both ways, and their queues.

use super::answer::Answer;
use super::parking::Parker;
use crossbeam_queue::ArrayQueue;
use nebula_nic::{CoreId, Dispatch, NodeId, SlotRange, Timestamp};
use nebula_sys::region::SlotLease;
use nebula_sys::spsc::{Consumer, Producer};
use std::sync::Arc;

/// The payload of an RPC in the receive region, and the room for its reply.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) lease: SlotLease,
    pub(crate) span: u32,
    pub(crate) answer: Option<Box<Answer>>,
    /// Whether the worker fetched the payload before it began the RPC.
    pub(crate) is_steered: bool,
    /// Whether the client had cancelled it in its ring when it was given to a core.
    pub(crate) is_taken_back: bool,
    /// The engine's turn in which it was given to a core; zero if the core took it itself.
    pub(crate) given: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) dispatch: Dispatch,
    pub(crate) held: Held,
}

#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) snid: NodeId,
    pub(crate) slots: SlotRange,
    pub(crate) lease: SlotLease,
    /// The core that the back end gave the RPC to; another worker may have served it.
    pub(crate) home: CoreId,
    pub(crate) is_steered: bool,
    pub(crate) answer: Option<Box<Answer>>,
}

/// The queues of all workers, by core: the engine pushes RPCs, and every worker pops them.
pub(crate) type Queues = Arc<[ArrayQueue<Job>]>;

#[derive(Debug)]
pub(crate) enum Jobs {
    Own(Producer<Job>),
    /// This core's queue, from which other workers may take.
    Stealable(Queues, CoreId),
}

impl Jobs {
    #[inline(always)]
    pub(crate) fn try_push(&mut self, job: Job) -> Result<(), Job> {
        match self {
            Self::Own(ring) => ring.try_push(job),
            Self::Stealable(queues, core) => queues[core.index()].push(job),
        }
    }
}

#[derive(Debug)]
pub(crate) struct WorkerLink {
    pub(crate) jobs: Jobs,
    pub(crate) freed: Consumer<Served>,
    /// Wakes the worker, if it may sleep.
    pub(crate) parker: Option<Arc<Parker>>,
}
