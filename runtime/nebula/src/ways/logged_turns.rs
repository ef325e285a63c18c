//! The turns of a worker's RPCs, and their decisions in the decision log, if there is one.

use crate::nic::recorder::Choice;
use nebula_nic::decision::TurnStep;
use nebula_nic::schedule::{Next, Turns, Yielded};
use nebula_nic::{CoreId, Decision, Input, Quantum, Timestamp};
use std::sync::mpsc::Sender;

/// [`Turns`] whose inputs and decisions are logged, except a free core without RPCs.
#[derive(Debug)]
pub(crate) struct LoggedTurns {
    turns: Turns,
    core: CoreId,
    now: Timestamp,
    log: Option<Sender<Choice>>,
}

impl LoggedTurns {
    pub(crate) fn new(core: CoreId, quantum: Quantum, suspended_max: u32, log: Option<Sender<Choice>>) -> Self {
        let turns = Self { turns: Turns::new(quantum, suspended_max), core, now: Timestamp::ZERO, log };
        turns.note(TurnStep::Start { quantum: quantum.span(), suspended_max }, None);
        turns
    }

    #[inline(always)]
    fn note(&self, step: TurnStep, decision: Option<Decision>) {
        if let Some(log) = &self.log {
            let input = Input::Turn { core: self.core, step };
            // The engine's end is gone when the server ends, and the log with it.
            let _ = log.send(Choice { at: Some(self.now), input, decision });
        }
    }

    #[inline]
    pub(crate) fn handle_dispatch(&mut self) {
        self.turns.handle_dispatch();
        self.note(TurnStep::Given, None);
    }

    #[inline]
    pub(crate) fn handle_yield(&mut self, now: Timestamp) -> Yielded {
        self.now = now;
        let is_running = self.turns.begun() > self.turns.suspended();
        let yielded = self.turns.handle_yield(now);
        if is_running {
            self.note(TurnStep::Yield, Some(Decision::Yield(yielded)));
        }
        yielded
    }

    #[inline]
    pub(crate) fn poll_next(&mut self, now: Timestamp) -> Option<Next> {
        let next = self.turns.poll_next(now);
        self.note_next(now, TurnStep::Next, next)
    }

    #[inline]
    pub(crate) fn poll_suspended(&mut self, now: Timestamp) -> Option<Next> {
        let next = self.turns.poll_suspended(now);
        self.note_next(now, TurnStep::NextSuspended, next)
    }

    #[inline(always)]
    fn note_next(&mut self, now: Timestamp, step: TurnStep, next: Option<Next>) -> Option<Next> {
        self.now = now;
        if let Some(next) = next {
            self.note(step, Some(Decision::Turn(next)));
        }
        next
    }

    #[inline]
    pub(crate) fn handle_end(&mut self) {
        self.turns.handle_end();
        self.note(TurnStep::End, None);
    }

    #[inline]
    pub(crate) fn fresh(&self) -> u32 {
        self.turns.fresh()
    }

    #[inline]
    pub(crate) fn begun(&self) -> u32 {
        self.turns.begun()
    }

    pub(crate) fn contexts(&self) -> u32 {
        self.turns.contexts()
    }
}
