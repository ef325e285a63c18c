//! A worker under `work-stealing`: it takes from its own queue, or else from another worker's.
//!
//! The engine puts an RPC into the queue of its home core. Whichever worker serves it, slots and
//! credit go back to the home core's account.

use super::completions::Completions;
use super::source::Source;
use crate::nic::recorder::Choice;
use crate::rpc::job::{Job, Queues, Served};
use nebula_nic::schedule::Thief;
use nebula_nic::{CoreId, CoreSet, Decision, Input, STEALABLE_BOUND};
use nebula_sys::spsc::Producer;
use std::sync::mpsc::Sender;

#[derive(Debug)]
pub(crate) struct Stealing {
    core: CoreId,
    queues: Queues,
    thief: Thief,
    filled: CoreSet,
    freed: Producer<Served>,
    log: Option<Sender<Choice>>,
}

impl Stealing {
    /// The worker `core`. Served RPCs go into `freed`, which has room for all RPCs of the queues;
    /// choices go into `log`, if there is one.
    pub(crate) fn new(
        core: CoreId,
        queues: Queues,
        thief: Thief,
        freed: Producer<Served>,
        log: Option<Sender<Choice>>,
    ) -> Self {
        let filled = CoreSet::empty(u16::try_from(queues.len()).unwrap_or(u16::MAX));
        Self { core, queues, thief, filled, freed, log }
    }

    /// The next RPC: from this worker's queue, else from the thief's choice. `None` also if another
    /// worker was quicker there: the caller tries again.
    #[inline]
    fn take(&mut self) -> Option<Job> {
        match self.queues[self.core.index()].pop() {
            None => self.steal(),
            own => own,
        }
    }

    fn steal(&mut self) -> Option<Job> {
        for (core, queue) in (0..).map(CoreId).zip(&*self.queues) {
            if queue.is_empty() {
                self.filled.remove(core);
            } else {
                self.filled.insert(core);
            }
        }
        let victim = self.thief.choose(&self.filled)?;
        if let Some(log) = &self.log {
            let input = Input::Steal { core: self.core, queues: self.filled.bits() };
            // The engine's end is gone when the server ends, and the log with it.
            let _ = log.send(Choice { at: None, input, decision: Some(Decision::Victim(victim)) });
        }
        self.queues[victim.index()].pop()
    }
}

impl Source for Stealing {
    fn fetch(&mut self, completions: &mut Completions) {
        if completions.frontend.outstanding() < STEALABLE_BOUND
            && let Some(job) = self.take()
        {
            completions.push_fetched(job);
        }
    }

    fn give_back(&mut self, _: &mut Completions, served: Served) {
        let pushed = self.freed.try_push(served);
        assert!(pushed.is_ok(), "the ring of freed slots has room for all that the queues hold");
    }
}
