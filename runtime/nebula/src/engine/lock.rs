//! Stations 2 to 7 and 10 under `mcs-lock`: no thread is the engine. Workers queue at a lock, and
//! its holder runs one turn of the engine: it frees what it has served, reads the rings and takes
//! the head of the queue. So each RPC takes the lock once.

use super::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::job::{Job, Served};
use nebula_nic::CoreId;

impl<T: Transport> Engine<T> {
    /// One turn on behalf of `core`: frees what it has served, and gives it the next RPC.
    #[inline]
    pub(crate) fn turn_for(&mut self, core: CoreId, freed: Option<Served>, has_rested: bool) -> Option<Job> {
        // While workers serve, rings may stay unread: a long time between two turns is no gap then.
        let counters = self.intake.backend.counters();
        if has_rested || counters.dispatched > counters.freed {
            self.pace.has_rested(self.clock.started, &mut self.intake.recorder);
        }
        let now = self.begin_turn();
        let served = usize::from(freed.is_some());
        if let Some(freed) = freed {
            self.free(now, freed);
        }
        let packets = self.poll_packets(now);
        let dispatch = self.intake.backend.poll_dispatch_for(core);
        if let (Some(recorder), Some(dispatch)) = (&mut self.intake.recorder, dispatch) {
            recorder.pull(now, dispatch);
        }
        self.flush(now);
        self.end_turn(now, packets + usize::from(dispatch.is_some()), served);
        dispatch.map(|dispatch| Job { held: self.take_payload(&dispatch.arrival), dispatch })
    }

    /// Frees what a worker has served that does not take the next RPC at once.
    pub(crate) fn take_back(&mut self, freed: Served) {
        self.pace.has_rested(self.clock.started, &mut self.intake.recorder);
        let now = self.begin_turn();
        self.free(now, freed);
        self.flush(now);
        self.end_turn(now, 0, 1);
    }
}
