//! Station 7, in simulated time: RPCs go to cores with credit, perhaps through a dispatcher.
//!
//! Next: [`cpu`](super::cpu).

use super::cpu::Cores;
use nebula_nic::{CentralDispatch, Dispatch, Span, Timestamp};

impl<D: CentralDispatch> Cores<'_, D> {
    #[inline(always)]
    pub(super) fn hand_out(&mut self, now: Timestamp) {
        while let Some(dispatch) = self.server.backend.poll_dispatch() {
            if self.costs.dispatch == Span::ZERO && self.costs.decision == Span::ZERO {
                self.deliver(now, dispatch);
            } else {
                let decided = self.wait_for_dispatcher(now);
                self.wires.send_dispatch(decided + self.costs.dispatch, self.index, dispatch);
            }
        }
    }

    /// The dispatcher decides about one RPC after the other.
    #[cold]
    fn wait_for_dispatcher(&mut self, now: Timestamp) -> Timestamp {
        let free = &mut self.server.dispatcher_free;
        *free = (*free).max(now) + self.costs.decision;
        *free
    }

    #[inline(always)]
    pub(super) fn deliver(&mut self, now: Timestamp, dispatch: Dispatch) {
        let core = dispatch.core.index();
        let frontend = &mut self.server.cores[core].frontend;
        frontend.handle_dispatch(dispatch);
        if frontend.in_service() == 0 {
            self.begin(now, core);
        }
    }
}
