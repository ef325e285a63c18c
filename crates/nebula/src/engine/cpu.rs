//! Stations 8 to 10, in real time: what joins the engine and its workers, and the engine's turn. Slots come back over rings.
//!
//! With workers on separate threads, a completion queue is a ring from the engine to the worker, and the way back is a ring of
//! freed slots. With `inline` there is no ring: the worker asks the engine itself.
//!
//! Next: [`reply`](super::reply).

use super::Engine;
use super::bell::Bell;
use crate::transport::Answer;
use crate::worker::Queues;
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
    pub(super) fn try_push(&mut self, job: Job) -> Result<(), Job> {
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
    pub(crate) bell: Option<Arc<Bell>>,
}

impl Engine {
    /// One turn of an engine whose workers have separate threads. Returns whether it did anything.
    pub(crate) fn turn(&mut self) -> bool {
        let now = self.begin_turn();
        let freed = self.collect_freed(now);
        let packets = self.collect_messages(now) + self.poll_packets(now);
        self.hand_out();
        self.hand_over(now);
        self.flush(now);
        self.end_turn(now, packets, freed);
        let is_idle = freed + packets == 0;
        if is_idle {
            self.rest(now);
        }
        !is_idle
    }

    /// Runs turns until stopped.
    pub(crate) fn run(mut self) {
        while !self.is_stopped() {
            self.turn();
        }
        self.wind_up();
    }

    /// Takes back what workers have freed and writes the last status; the thread that stops the server closes the connections.
    pub(crate) fn wind_up(&mut self) {
        let now = self.begin_turn();
        self.collect_freed(now);
        self.collect_messages(now);
        self.flush(now);
        self.publish_status(false);
    }

    fn collect_freed(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        for core in 0..self.links.len() {
            while let Some(freed) = self.links[core].freed.try_pop() {
                self.stolen += u64::from(freed.home.index() != core);
                self.steered += u64::from(freed.is_steered);
                self.free(now, freed);
                count += 1;
            }
        }
        count
    }
}
