//! An RPC between engine and worker: what the worker gets, what it gives back, and what both travel
//! in.

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
    /// Slots of the client's ring that the RPC spans.
    pub(crate) span: u32,
    /// Where the reply is written if not there.
    pub(crate) answer: Option<Box<Answer>>,
    /// Whether its worker has had it fetched before it begins the RPC.
    pub(crate) is_steered: bool,
    /// Whether its client had taken it back when it was given to a core, where that stands in the
    /// client's ring.
    pub(crate) is_taken_back: bool,
    /// The engine's turn in which it was given to a core; zero where that core came for it itself.
    pub(crate) given: Timestamp,
}

/// An RPC on its way to a worker.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) dispatch: Dispatch,
    pub(crate) held: Held,
}

/// What a worker gives back.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) snid: NodeId,
    /// The lease's slots, as the back end numbers them.
    pub(crate) slots: SlotRange,
    pub(crate) lease: SlotLease,
    /// The core that the back end gave the RPC to: another one's may have served it.
    pub(crate) home: CoreId,
    /// Whether its payload was steered.
    pub(crate) is_steered: bool,
    /// The reply, if it is not in the client's ring.
    pub(crate) answer: Option<Box<Answer>>,
}

/// The queues of all workers, by core: the engine puts RPCs in, every worker takes them out.
pub(crate) type Queues = Arc<[ArrayQueue<Job>]>;

/// Where a worker's RPCs are put.
#[derive(Debug)]
pub(crate) enum Jobs {
    /// In a separate ring.
    Own(Producer<Job>),
    /// In this core's queue, from which other workers may take.
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

/// The engine's ends of the rings to one worker.
#[derive(Debug)]
pub(crate) struct WorkerLink {
    pub(crate) jobs: Jobs,
    pub(crate) freed: Consumer<Served>,
    /// What wakes the worker, where it sleeps.
    pub(crate) parker: Option<Arc<Parker>>,
}
