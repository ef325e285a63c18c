//! Stations 2 to 7 and 10 under `mcs-lock`: no thread is the engine. Workers stand in line at a lock, and the one whose turn it is runs one
//! turn of the engine for itself.
//!
//! It gives back what it has served, reads the rings and comes for the head of the queue: one hold of the lock an RPC.

use super::Engine;
use super::cpu::{Freed, Job};
use nebula_nic::{CoreId, Timestamp};

impl Engine {
    /// One turn on behalf of `core`: takes back what it has served, and gives it the next RPC.
    #[inline]
    pub(crate) fn turn_for(&mut self, core: CoreId, freed: Option<Freed>, has_rested: bool) -> Option<Job> {
        // While workers serve, nobody need look at the rings: a long time between two turns is no gap then.
        let counters = self.backend.backend().counters();
        if has_rested || counters.dispatched > counters.freed {
            self.pace.has_rested();
        }
        let now = self.begin_turn();
        let served = usize::from(freed.is_some());
        if let Some(freed) = freed {
            self.free(now, freed);
        }
        let packets = self.poll_packets(now);
        let job = self.next_job_for(now, core);
        self.flush(now);
        self.end_turn(now, packets + usize::from(job.is_some()), served);
        job
    }

    /// The head of the queue, for a core that has come for it.
    fn next_job_for(&mut self, now: Timestamp, core: CoreId) -> Option<Job> {
        loop {
            let dispatch = self.backend.poll_dispatch_for(now, core)?;
            if let Some(recorder) = &mut self.recorder {
                recorder.pull(now, dispatch);
            }
            if let Some(job) = self.take_wanted(now, dispatch) {
                return Some(job);
            }
        }
    }

    /// Takes back what a worker has served that does not come for the next RPC at once.
    pub(crate) fn take_back(&mut self, freed: Freed) {
        self.pace.has_rested();
        let now = self.begin_turn();
        self.free(now, freed);
        self.flush(now);
        self.end_turn(now, 0, 1);
    }
}
