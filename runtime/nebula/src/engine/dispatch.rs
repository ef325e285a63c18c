//! Station 7, in real time: RPCs go to workers that have credit, and their payloads with them.
//!
//! Next: [`cpu`](super::cpu).

use super::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::job::{Held, Job};
use nebula_nic::{Arrival, Dispatch, Timestamp};

impl<T: Transport> Engine<T> {
    /// Gives the back end the type of each complete RPC, under a policy with types.
    // Not inlined: the function that serves runs would share its registers with it.
    #[inline(never)]
    pub(crate) fn sort(&mut self, now: Timestamp) {
        if let Some(types) = &self.types {
            self.intake.sort(now, |request| types.type_of(request));
        }
    }

    #[inline]
    pub(super) fn hand_out(&mut self) {
        while let Some(dispatch) = self.next_dispatch() {
            self.deliver(dispatch);
        }
    }

    #[inline]
    fn deliver(&mut self, dispatch: Dispatch) {
        let held = Held { given: self.now(), ..self.take_payload(&dispatch.arrival) };
        let link = &mut self.links[dispatch.core.index()];
        let pushed = link.jobs.try_push(Job { dispatch, held });
        assert!(pushed.is_ok(), "a completion queue holds as many RPCs as the policy gives a core");
        if let Some(parker) = &link.parker {
            parker.wake_if_armed();
        }
    }

    #[inline(always)]
    pub(crate) fn next_dispatch(&mut self) -> Option<Dispatch> {
        let dispatch = self.intake.backend.poll_dispatch()?;
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.dispatch(dispatch);
        }
        Some(dispatch)
    }

    /// The payload of a dispatched RPC, which belongs to its core from now on.
    #[inline(always)]
    pub(crate) fn take_payload(&mut self, arrival: &Arrival) -> Held {
        let mut held = self.intake.payloads.take(arrival);
        // An RPC that has not waited was read in this turn, and was not cancelled then.
        if arrival.arrived < self.now() {
            held.is_taken_back = self.transport.is_taken_back(arrival.rpc);
        }
        held
    }
}
