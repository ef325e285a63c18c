//! A worker with an engine on another thread: RPCs come, and slots go back, by a ring.

use super::completions::Completions;
use super::source::Source;
use crate::rpc::job::{Job, Served};
use crate::rpc::parking::Parker;
use nebula_nic::Span;
use nebula_sys::spsc::{Consumer, Producer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(crate) struct Ring {
    jobs: Consumer<Job>,
    freed: Producer<Served>,
    parkers: Option<Parkers>,
}

/// The parkers of a worker and its engine, if both may sleep.
#[derive(Debug)]
pub(crate) struct Parkers {
    pub(crate) own: Arc<Parker>,
    pub(crate) engine: Arc<Parker>,
    /// The silence after which the worker sleeps.
    pub(crate) after: Span,
}

impl Ring {
    pub(crate) fn new(jobs: Consumer<Job>, freed: Producer<Served>, parkers: Option<Parkers>) -> Self {
        Self { jobs, freed, parkers }
    }
}

impl Source for Ring {
    fn take_given(&mut self, completions: &mut Completions) {
        while let Some(job) = self.jobs.try_pop() {
            completions.push(job);
        }
    }

    fn give_back(&mut self, _: &mut Completions, served: Served) {
        let mut served = served;
        // The ring holds all that a core is given, so it is full only until the engine looks.
        while let Err(back) = self.freed.try_push(served) {
            served = back;
            std::hint::spin_loop();
        }
        if let Some(parkers) = &self.parkers {
            parkers.engine.wake_if_armed();
        }
    }

    fn is_about_to_sleep(&self, silence: Span) -> bool {
        self.parkers.as_ref().is_some_and(|parkers| silence >= parkers.after)
    }

    fn rest(&mut self, silence: Span, stop: &AtomicBool) -> bool {
        let Some(parkers) = self.parkers.as_ref().filter(|parkers| silence >= parkers.after) else { return false };
        parkers.own.arm();
        // Once more, for RPCs given before the worker armed its parker.
        if self.jobs.is_empty() && !stop.load(Ordering::Relaxed) {
            parkers.own.wait();
        }
        parkers.own.disarm();
        true
    }
}
