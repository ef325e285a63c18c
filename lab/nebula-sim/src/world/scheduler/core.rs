//! One core: its RPCs, and when the one in service ends, has used its quantum, or leaves.

use super::terms::{NEVER, Terms};
use nebula_nic::{Span, Timestamp};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Serving,
    /// It suspends its RPC.
    Leaving,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    End,
    Interrupt,
    Due,
    /// It has suspended its RPC.
    Left,
}

pub(super) struct Core {
    /// The one in service first, the others in the order in which they will run.
    pub(super) rpcs: VecDeque<u32>,
    pub(super) phase: Phase,
    pub(super) since: Timestamp,
    /// When it ends, or has been suspended.
    end: Timestamp,
    /// When its quantum ends; never, once noticed.
    due: Timestamp,
    interrupt: Timestamp,
}

impl Core {
    pub(super) fn new(terms: &Terms) -> Self {
        let rpcs = VecDeque::with_capacity(terms.depth as usize);
        Self { rpcs, phase: Phase::Idle, since: Timestamp::ZERO, end: NEVER, due: NEVER, interrupt: NEVER }
    }

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

    #[inline]
    pub(super) fn used(&self, now: Timestamp) -> Span {
        now - self.since
    }

    #[inline]
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        (self.phase != Phase::Idle).then(|| self.end.min(self.due).min(self.interrupt))
    }

    /// The event due at `now`; an RPC's end comes first.
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
