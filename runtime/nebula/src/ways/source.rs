//! Where a worker's RPCs come from, and where they go back to.

use super::completions::Completions;
use crate::nic::ingress::RPCS_PER_TURN;
use crate::rpc::answer::Answer;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::Service;
use nebula_nic::{Arrival, NodeId, Span};
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

/// One way of working.
pub(crate) trait Source: Debug {
    /// Takes what has been dispatched to this core; one that is the engine too runs a turn of it
    /// first.
    fn pull(&mut self, completions: &mut Completions, service: &dyn Service);

    /// As [`pull`](Self::pull); one that is the engine too has what comes while nothing waits
    /// served at once. Returns how many RPCs were.
    #[inline(always)]
    fn pull_and_serve(&mut self, completions: &mut Completions, service: &dyn Service) -> usize {
        self.pull(completions, service);
        0
    }

    /// Takes what has been given since, between two RPCs of a turn.
    #[inline(always)]
    fn take_given(&mut self, _completions: &mut Completions) {}

    /// Comes for the next RPC, where RPCs are not handed out.
    #[inline(always)]
    fn fetch(&mut self, _completions: &mut Completions) {}

    /// The payload of the RPC that the core begins next.
    #[inline(always)]
    fn payload(&mut self, completions: &mut Completions, _arrival: &Arrival) -> Option<Held> {
        completions.pop_payload()
    }

    /// Gives slots, credit and answer of an RPC back.
    fn give_back(&mut self, completions: &mut Completions, served: Served);

    /// Whether the answer of an RPC can be sent after its slots were given back.
    fn sends_alone(&self) -> bool {
        false
    }

    /// Sends the answer of an RPC of `snid` whose slots were given back before. Only where it
    /// [can](Self::sends_alone).
    fn send(&mut self, _snid: NodeId, answer: Box<Answer>) {
        drop(answer);
    }

    /// The RPC that was given back last was not served: nobody waited for it any more.
    fn uncount(&mut self) {}

    /// RPCs served between two looks at what has come.
    #[inline(always)]
    fn rpcs_per_turn(&self) -> usize {
        RPCS_PER_TURN as usize
    }

    /// Some are about to be served; when that is, if anyone is to know.
    #[inline(always)]
    fn begin_serving(&self) -> u64 {
        0
    }

    /// All that may be served after [`begin_serving`](Self::begin_serving) have been, or all there
    /// are: `served` of `most` that might.
    #[inline(always)]
    fn end_serving(&mut self, _began: u64, _served: usize, _most: usize) {}

    /// Ends a turn: what was kept back is given back, and answers go out.
    #[inline(always)]
    fn settle(&mut self) {}

    /// An RPC has run and is not over.
    fn note_unfinished(&mut self) {}

    /// The server stops: what is left is taken back.
    fn finish(&mut self) {}

    /// Whether the source rests by itself; the worker does where not. It sleeps until packets come
    /// only if it may block.
    #[inline]
    fn rests(&mut self, _may_block: bool) -> bool {
        false
    }

    /// Sleeps until there is work, where it can, a silence has lasted for `silence`, and the server
    /// does not stop. Whether it slept.
    fn rest(&mut self, _silence: Span, _stop: &AtomicBool) -> bool {
        false
    }
}
