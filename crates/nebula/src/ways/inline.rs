//! A worker that is the engine too: RPCs come by a call, and slots go back by a call.

use super::completions::Completions;
use super::source::Source;
use crate::engine::run::Turn;
use crate::engine::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::{Service, Stage};
use crate::transport::shm::rings::Rings;
use crate::transport::udp::port::UdpPort;
use nebula_nic::Arrival;

/// The engine of this thread.
#[derive(Debug)]
pub(crate) struct Inline<T> {
    engine: Box<Engine<T>>,
}

/// A transport whose engine can be the worker too.
pub(crate) trait Runs: Transport + Sized {
    /// Whether RPCs are served in runs.
    fn serves_runs(engine: &Engine<Self>) -> bool;

    /// A turn of an engine that serves runs.
    fn turn_of_runs<S: Service>(engine: &mut Engine<Self>, service: &S, may_prefetch: bool, may_glance: bool) -> Turn;
}

impl Runs for Rings {
    #[inline(always)]
    fn serves_runs(engine: &Engine<Self>) -> bool {
        engine.serves_runs()
    }

    #[inline(always)]
    fn turn_of_runs<S: Service>(engine: &mut Engine<Self>, service: &S, may_prefetch: bool, may_glance: bool) -> Turn {
        engine.turn_of_runs(service, may_prefetch, may_glance)
    }
}

impl Runs for UdpPort {
    #[inline(always)]
    fn serves_runs(_: &Engine<Self>) -> bool {
        false
    }

    fn turn_of_runs<S: Service>(_: &mut Engine<Self>, _: &S, _: bool, _: bool) -> Turn {
        Turn::Idle
    }
}

impl<T> Inline<T> {
    pub(crate) fn new(engine: Engine<T>) -> Self {
        Self { engine: Box::new(engine) }
    }
}

impl<T: Runs> Source for Inline<T> {
    fn pull(&mut self, completions: &mut Completions, service: &dyn Service) {
        let engine = &mut self.engine;
        let now = engine.begin_turn();
        let packets = engine.poll_packets(now);
        // A pass for each stage, so that the misses of all that arrived overlap.
        if packets > 0 && completions.steers() && service.prefetches() {
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Arrived));
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Next));
        }
        engine.end_ingress(now, packets);
        while let Some(dispatch) = engine.next_dispatch() {
            completions.push_kept(dispatch);
        }
    }

    /// The engine has copied every payload through this core's cache already: there is nothing to steer.
    #[inline(always)]
    fn payload(&mut self, _: &mut Completions, arrival: &Arrival) -> Option<Held> {
        Some(self.engine.take_payload(arrival))
    }

    #[inline(always)]
    fn give_back(&mut self, completions: &mut Completions, served: Served) {
        let engine = &mut self.engine;
        engine.count_served();
        engine.free(engine.now(), served);
        // Everything that could be dispatched had been: one credit more is one RPC more at most.
        if let Some(dispatch) = engine.next_dispatch() {
            completions.push_kept(dispatch);
        }
    }

    fn uncount(&mut self) {
        self.engine.uncount_served();
    }

    #[inline(always)]
    fn rpcs_per_turn(&self) -> usize {
        self.engine.rpcs_per_turn()
    }

    #[inline(always)]
    fn begin_serving(&self) -> u64 {
        self.engine.begin_serving()
    }

    #[inline(always)]
    fn end_serving(&mut self, began: u64, most: usize) {
        self.engine.end_serving(began, most);
    }

    #[inline(always)]
    fn settle(&mut self) {
        self.engine.flush(self.engine.now());
    }

    /// The engine is told, for it thinks that a turn serves.
    fn note_unfinished(&mut self) {
        self.engine.note_unfinished();
    }

    fn finish(&mut self) {
        self.engine.finish();
    }

    fn rests(&mut self) -> bool {
        self.engine.rest(self.engine.now());
        true
    }

    #[inline(always)]
    fn serves_runs(&self) -> bool {
        T::serves_runs(&self.engine)
    }

    #[inline(always)]
    fn turn_of_runs<S: Service>(&mut self, service: &S, may_prefetch: bool, may_glance: bool) -> Turn {
        T::turn_of_runs(&mut self.engine, service, may_prefetch, may_glance)
    }
}
