//! One core: the RPCs that were dispatched to it, and when the one in service ends, has used its
//! quantum, or leaves.

use super::terms::{NEVER, Terms};
use nebula_nic::schedule::RunQueue;
use nebula_nic::{Span, Timestamp};

/// The current action of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Serving,
    /// It suspends a preempted RPC.
    Leaving,
}

/// The next event of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Its RPC ends.
    End,
    /// Its RPC is preempted.
    Interrupt,
    /// Its RPC has used its quantum.
    Due,
    /// It has suspended its RPC.
    Left,
}

pub(super) struct Core {
    pub(super) run: RunQueue<u32>,
    pub(super) phase: Phase,
    /// Since when the RPC in service has been running.
    pub(super) since: Timestamp,
    /// When it ends, or has been suspended.
    end: Timestamp,
    /// When its quantum is used up; never, once this has been noticed.
    due: Timestamp,
    /// When an interrupt in flight preempts it.
    interrupt: Timestamp,
}

impl Core {
    pub(super) fn new(terms: &Terms) -> Self {
        let run = RunQueue::new(terms.depth, terms.depth);
        Self { run, phase: Phase::Idle, since: Timestamp::ZERO, end: NEVER, due: NEVER, interrupt: NEVER }
    }

    /// The RPC in service runs, with this remaining service time.
    #[inline]
    pub(super) fn serve(&mut self, since: Timestamp, remaining_ps: u64, terms: &Terms) {
        self.phase = Phase::Serving;
        self.since = since;
        self.end = since + terms.time_for(remaining_ps);
        (self.due, self.interrupt) = (terms.due_at(since), NEVER);
    }

    #[inline]
    pub(super) fn leave_until(&mut self, at: Timestamp) {
        (self.phase, self.end) = (Phase::Leaving, at);
        (self.due, self.interrupt) = (NEVER, NEVER);
    }

    #[inline]
    pub(super) fn rest(&mut self) {
        self.phase = Phase::Idle;
        (self.end, self.due, self.interrupt) = (NEVER, NEVER, NEVER);
    }

    /// Marks the end of the quantum as noticed.
    #[inline]
    pub(super) fn note_due(&mut self) {
        self.due = NEVER;
    }

    #[inline]
    pub(super) fn interrupt_at(&mut self, at: Timestamp) {
        (self.due, self.interrupt) = (NEVER, at);
    }

    #[inline]
    pub(super) fn is_being_interrupted(&self) -> bool {
        self.interrupt != NEVER
    }

    /// How long the RPC in service has been running.
    #[inline]
    pub(super) fn used(&self, now: Timestamp) -> Span {
        now - self.since
    }

    /// The time of the next event.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        (self.phase != Phase::Idle).then(|| self.end.min(self.due).min(self.interrupt))
    }

    /// The next event at that time; the end of an RPC has priority.
    #[inline]
    pub(super) fn next(&self, now: Timestamp) -> Next {
        match self.phase {
            Phase::Leaving => Next::Left,
            _ if self.end <= now => Next::End,
            _ if self.interrupt <= now => Next::Interrupt,
            _ => Next::Due,
        }
    }
}
