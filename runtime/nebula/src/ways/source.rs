//! The source of a worker's RPCs, to which their slots return.

use super::completions::Completions;
use crate::engine::run::Turn;
use crate::nic::ingress::RPCS_PER_TURN;
use crate::rpc::answer::Answer;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::Service;
use nebula_nic::{Arrival, NodeId, Span};
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

/// The part of a turn in which a core serves RPCs one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub(crate) most: usize,
    /// The time at its beginning, if the source needs it.
    pub(crate) began_ps: u64,
}

pub(crate) trait Source: Debug + Send {
    /// Takes RPCs dispatched to this core. A source with the engine first runs a turn of it, in
    /// which it serves RPCs at once that arrive while nothing waits, if it `may_serve`. Returns the
    /// number of RPCs served.
    fn pull(&mut self, completions: &mut Completions, _service: &dyn Service, _may_serve: bool) -> usize {
        self.take_given(completions);
        0
    }

    /// Whether it serves all RPCs itself, by [`turn_of_runs`](Self::turn_of_runs).
    fn serves_runs(&self) -> bool {
        false
    }

    /// A whole turn. Without a result it may be a glance, if the caller comes again at once.
    fn turn_of_runs(&mut self, _service: &dyn Service, _may_prefetch: bool, _may_glance: bool) -> Turn {
        Turn::Idle
    }

    /// Takes RPCs that another thread has given to this core.
    fn take_given(&mut self, _completions: &mut Completions) {}

    /// Fetches the next RPC, if RPCs are not handed out.
    fn fetch(&mut self, _completions: &mut Completions) {}

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

    /// Begins to serve RPCs one by one.
    fn begin_serving(&mut self) -> Serving {
        Serving { most: RPCS_PER_TURN as usize, began_ps: 0 }
    }

    /// Ends [`begin_serving`](Self::begin_serving), after `served` RPCs.
    fn end_serving(&mut self, _serving: Serving, _served: usize) {}

    /// Ends a turn: gives back what was kept, and sends answers.
    fn settle(&mut self) {}

    /// An RPC has run and not ended.
    fn note_unfinished(&mut self) {}

    /// Takes everything back when the server stops.
    fn finish(&mut self) {}

    /// Whether the next rest of a worker that has been silent for `silence` is a sleep.
    fn is_about_to_sleep(&self, _silence: Span) -> bool {
        false
    }

    /// Rests, if the source does that itself; sleeps until packets come only if it may block.
    fn rests(&mut self, _may_block: bool) -> bool {
        false
    }

    /// Sleeps until there is work, if it can, nothing has come for `silence`, and the server does
    /// not stop. Returns whether it slept.
    fn rest(&mut self, _silence: Span, _stop: &AtomicBool) -> bool {
        false
    }
}
