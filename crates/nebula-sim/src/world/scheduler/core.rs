//! One core: the RPCs that were given to it, and when the one in service ends, is due, or leaves.

use super::terms::{NEVER, Terms};
use nebula_nic::schedule::RunQueue;
use nebula_nic::{Span, Timestamp};

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Serving,
    /// It puts an RPC away that it was made to leave.
    Leaving,
}

/// What comes next at a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Its RPC ends.
    End,
    /// Its RPC is taken from it.
    Interrupt,
    /// Its RPC has used its quantum.
    Due,
    /// It has put its RPC away.
    Left,
}

pub(super) struct Core {
    pub(super) run: RunQueue<u32>,
    pub(super) phase: Phase,
    /// Since when the RPC in service goes on.
    pub(super) since: Timestamp,
    /// When it ends, or has been put away.
    end: Timestamp,
    /// When its quantum is used up; never once that is known.
    due: Timestamp,
    /// When an interrupt under way takes it.
    interrupt: Timestamp,
}

impl Core {
    pub(super) fn new(terms: &Terms) -> Self {
        let run = RunQueue::new(terms.depth, terms.depth);
        Self { run, phase: Phase::Idle, since: Timestamp::ZERO, end: NEVER, due: NEVER, interrupt: NEVER }
    }

    /// The RPC in service goes on, with so much of it left.
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

    /// That its RPC is due has been noticed.
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

    /// How long the RPC in service has kept it.
    #[inline]
    pub(super) fn used(&self, now: Timestamp) -> Span {
        now - self.since
    }

    /// When something comes next.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        (self.phase != Phase::Idle).then(|| self.end.min(self.due).min(self.interrupt))
    }

    /// What it is, at that time: an RPC that ends just then is let go.
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
