//! A worker under `mcs-lock`: it is the engine at its turn at the lock, and takes one RPC.

use super::completions::Completions;
use super::source::Source;
use crate::engine::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::job::Served;
use nebula_nic::{CoreId, Span};
use nebula_sys::mcs::Waiter;
use std::sync::atomic::AtomicBool;

#[derive(Debug)]
pub(crate) struct Lock<T> {
    engine: Waiter<Engine<T>>,
    core: CoreId,
    /// An RPC that was served; its slots go back at the next turn.
    freed: Option<Served>,
    has_rested: bool,
}

impl<T> Lock<T> {
    pub(crate) fn new(engine: Waiter<Engine<T>>, core: CoreId) -> Self {
        Self { engine, core, freed: None, has_rested: false }
    }
}

impl<T: Transport> Source for Lock<T> {
    fn fetch(&mut self, completions: &mut Completions) {
        let (core, freed, has_rested) = (self.core, self.freed.take(), std::mem::take(&mut self.has_rested));
        if let Some(job) = self.engine.with(|engine| engine.turn_for(core, freed, has_rested)) {
            completions.push_fetched(job);
        }
    }

    fn give_back(&mut self, _: &mut Completions, served: Served) {
        // A core has credit for one RPC, so none is kept already.
        self.freed = Some(served);
    }

    /// Gives back the served RPC, without taking another.
    fn settle(&mut self) {
        if let Some(freed) = self.freed.take() {
            self.engine.with(|engine| engine.take_back(freed));
        }
    }

    fn finish(&mut self) {
        self.settle();
        self.engine.with(Engine::finish);
    }

    fn rest(&mut self, _: Span, _: &AtomicBool) -> bool {
        self.has_rested = true;
        false
    }
}
