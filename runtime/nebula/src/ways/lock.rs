//! A worker under `mcs-lock`: no thread is the engine, and each worker is it when it is its turn at
//! the lock. It comes for its RPCs itself, one at a time.

use super::completions::Completions;
use super::source::Source;
use crate::engine::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::job::Served;
use crate::rpc::service::Service;
use nebula_nic::{CoreId, Span};
use nebula_sys::mcs::Waiter;
use std::sync::atomic::AtomicBool;

/// One worker's place at the lock.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    engine: Waiter<Engine<T>>,
    core: CoreId,
    /// Served, and given back when it comes for the next one.
    freed: Option<Served>,
    has_rested: bool,
}

impl<T> Lock<T> {
    pub(crate) fn new(engine: Waiter<Engine<T>>, core: CoreId) -> Self {
        Self { engine, core, freed: None, has_rested: false }
    }
}

impl<T: Transport> Source for Lock<T> {
    /// They are come for one at a time.
    #[inline(always)]
    fn pull(&mut self, _: &mut Completions, _: &dyn Service) {}

    /// Gives back what was served and comes for the next RPC.
    #[inline(never)]
    fn fetch(&mut self, completions: &mut Completions) {
        let (core, freed, has_rested) = (self.core, self.freed.take(), std::mem::take(&mut self.has_rested));
        if let Some(job) = self.engine.with(|engine| engine.turn_for(core, freed, has_rested)) {
            completions.push_fetched(job);
        }
    }

    /// Keeps what was served until the worker comes again.
    #[inline]
    fn give_back(&mut self, _: &mut Completions, served: Served) {
        // A core has credit for one RPC, so there is none kept already.
        self.freed = Some(served);
    }

    /// Gives back what was served, without coming for more.
    #[inline]
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
