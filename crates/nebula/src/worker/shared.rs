//! A worker under `mcs-lock`: it comes for its RPCs itself, one at a time, when it is its turn at the lock.

use crate::engine::Engine;
use crate::engine::cpu::{Job, Served};
use nebula_nic::CoreId;
use nebula_sys::mcs::Waiter;

/// One worker's place at the lock.
#[derive(Debug)]
pub(super) struct Shared {
    engine: Waiter<Engine>,
    core: CoreId,
    /// Served, and given back when it comes for the next one.
    freed: Option<Served>,
    has_rested: bool,
}

impl Shared {
    pub(super) fn new(engine: Waiter<Engine>, core: CoreId) -> Self {
        Self { engine, core, freed: None, has_rested: false }
    }

    /// Gives back what was served and comes for the next RPC.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Job> {
        let (core, freed, has_rested) = (self.core, self.freed.take(), std::mem::take(&mut self.has_rested));
        self.engine.with(|engine| engine.turn_for(core, freed, has_rested))
    }

    /// Keeps what was served until [`take`](Self::take) or [`settle`](Self::settle).
    #[inline]
    pub(super) fn keep(&mut self, freed: Served) {
        // A core has credit for one RPC, so there is none kept already.
        self.freed = Some(freed);
    }

    /// Gives back what was served, without coming for more.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(freed) = self.freed.take() {
            self.engine.with(|engine| engine.take_back(freed));
        }
    }

    pub(super) fn has_rested(&mut self) {
        self.has_rested = true;
    }

    pub(super) fn wind_up(&mut self) {
        self.settle();
        self.engine.with(Engine::wind_up);
    }
}
