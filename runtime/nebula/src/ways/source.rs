//! The source of a worker's RPCs, to which their slots return.

use super::completions::Completions;
use crate::nic::ingress::RPCS_PER_TURN;
use crate::rpc::answer::Answer;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::Service;
use nebula_nic::{Arrival, NodeId, Span};
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

pub(crate) trait Source: Debug {
    /// Takes RPCs dispatched to this core. A source with the engine first runs a turn of it.
    fn pull(&mut self, completions: &mut Completions, service: &dyn Service);

    /// As [`pull`](Self::pull). A source with the engine also serves RPCs at once that arrive while
    /// nothing waits. Returns the number of RPCs served.
    #[inline(always)]
    fn pull_and_serve(&mut self, completions: &mut Completions, service: &dyn Service) -> usize {
        self.pull(completions, service);
        0
    }

    #[inline(always)]
    fn take_given(&mut self, _completions: &mut Completions) {}

    /// Fetches the next RPC, if RPCs are not handed out.
    #[inline(always)]
    fn fetch(&mut self, _completions: &mut Completions) {}

    #[inline(always)]
    fn payload(&mut self, completions: &mut Completions, _arrival: &Arrival) -> Option<Held> {
        completions.pop_payload()
    }

    fn give_back(&mut self, completions: &mut Completions, served: Served);

    /// Whether an answer can be sent after the RPC's slots were given back.
    fn sends_alone(&self) -> bool {
        false
    }

    /// Sends the answer of an RPC of `snid` whose slots were given back before. Requires
    /// [`sends_alone`](Self::sends_alone).
    fn send(&mut self, _snid: NodeId, answer: Box<Answer>) {
        drop(answer);
    }

    /// The RPC given back last was not served, because its client did not wait any more.
    fn uncount(&mut self) {}

    #[inline(always)]
    fn rpcs_per_turn(&self) -> usize {
        RPCS_PER_TURN as usize
    }

    /// Begins to serve; returns the time, if the source needs it.
    #[inline(always)]
    fn begin_serving(&self) -> u64 {
        0
    }

    /// Ends [`begin_serving`](Self::begin_serving): `served` of `most` RPCs were served.
    #[inline(always)]
    fn end_serving(&mut self, _began: u64, _served: usize, _most: usize) {}

    /// Ends a turn: gives back what was kept, and sends answers.
    #[inline(always)]
    fn settle(&mut self) {}

    /// An RPC has run and not ended.
    fn note_unfinished(&mut self) {}

    /// Takes everything back when the server stops.
    fn finish(&mut self) {}

    /// Rests, if the source does that itself; sleeps until packets come only if it may block.
    #[inline]
    fn rests(&mut self, _may_block: bool) -> bool {
        false
    }

    /// Sleeps until there is work, if it can, nothing has come for `silence`, and the server does
    /// not stop. Returns whether it slept.
    fn rest(&mut self, _silence: Span, _stop: &AtomicBool) -> bool {
        false
    }
}
