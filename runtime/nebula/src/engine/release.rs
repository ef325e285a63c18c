//! Stations 10 and 11 at the engine: it frees slots with their core's credit, and sends answers.

use super::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::answer::Answer;
use crate::rpc::job::Served;
use nebula_nic::{Freed, NodeId, Timestamp};

impl<T: Transport> Engine<T> {
    #[inline(always)]
    pub(crate) fn free(&mut self, now: Timestamp, served: Served) {
        let (core, slots) = (served.home, served.slots);
        let outcome = self.intake.backend.handle_free_at(now, core, slots);
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.free(now, core, slots, outcome);
        }
        if let Freed::Foreign { origin } = outcome {
            if let Some(neighbors) = &mut self.intake.neighbors {
                neighbors.give_back(origin, served);
            }
            return;
        }
        self.intake.payloads.release(served.lease);
        self.transport.ended(served.snid, served.answer);
    }

    /// Sends the answer of an RPC whose slots are free already.
    pub(crate) fn send(&mut self, snid: NodeId, answer: Box<Answer>) {
        self.transport.ended(snid, Some(answer));
    }

    #[cold]
    pub(super) fn expire(&mut self, now: Timestamp) {
        self.intake.backend.handle_timeout(now);
        self.report.has_news = true;
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.timeout(now);
        }
        self.drop_abandoned(now);
    }

    /// Forgets a client: drops its incomplete RPCs; complete ones run to their end.
    pub(super) fn forget(&mut self, now: Timestamp, snid: NodeId) {
        self.intake.backend.handle_peer_gone(snid);
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.peer_gone(now, snid);
        }
        self.drop_abandoned(now);
        self.transport.forget(snid);
    }

    fn drop_abandoned(&mut self, now: Timestamp) {
        while let Some(abandoned) = self.intake.backend.poll_abandoned() {
            if let Some(recorder) = &mut self.intake.recorder {
                recorder.abandoned(abandoned);
            }
            let answer = self.intake.payloads.abandon(abandoned.slots);
            self.transport.abandoned(now, abandoned.rpc, answer, &mut self.intake.recorder);
        }
    }
}
