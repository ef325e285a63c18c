//! A worker that is the engine too: RPCs come, and slots go back, by a call.

use super::completions::Completions;
use super::core::Core;
use super::source::Source;
use crate::engine::run::{Polled, Turn};
use crate::engine::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::answer::Answer;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::{Service, Stage};
use crate::transport::shm::rings::Rings;
use nebula_nic::{Arrival, NodeId, Timestamp};

#[derive(Debug)]
pub(crate) struct Inline<T> {
    engine: Box<Engine<T>>,
}

impl<T> Inline<T> {
    pub(crate) fn new(engine: Engine<T>) -> Self {
        Self { engine: Box::new(engine) }
    }
}

impl<T: Transport> Inline<T> {
    /// Ends the ingress of a turn that took `packets`, and takes the RPCs dispatched then.
    #[inline(always)]
    fn end_pull(&mut self, now: Timestamp, packets: usize, completions: &mut Completions, service: &dyn Service) {
        let engine = &mut self.engine;
        // A pass for each stage, so that the misses of all arrivals overlap.
        if packets > 0 && completions.steers() && service.prefetches() {
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Arrived));
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Next));
        }
        engine.sort(now, Some(service));
        engine.end_ingress(now, packets);
        while let Some(dispatch) = engine.next_dispatch() {
            completions.push_kept(dispatch);
        }
    }
}

impl<T: Transport> Source for Inline<T> {
    fn pull(&mut self, completions: &mut Completions, service: &dyn Service) {
        let now = self.engine.begin_turn();
        let packets = self.engine.poll_packets(now);
        self.end_pull(now, packets, completions, service);
    }

    fn pull_and_serve(&mut self, completions: &mut Completions, service: &dyn Service) -> usize {
        let now = self.engine.begin_turn();
        let Polled { packets, served } = self.engine.poll_and_serve(now, service, completions.steers());
        self.end_pull(now, packets, completions, service);
        // `end_pull` has ended the previous turn: these count for this one.
        self.engine.count_served(served);
        served
    }

    /// Nothing to steer: the engine has copied every payload through this core's cache.
    #[inline(always)]
    fn payload(&mut self, _: &mut Completions, arrival: &Arrival) -> Option<Held> {
        Some(self.engine.take_payload(arrival))
    }

    #[inline(always)]
    fn give_back(&mut self, completions: &mut Completions, served: Served) {
        let engine = &mut self.engine;
        engine.count_served(1);
        engine.free(engine.time_of_end(), served);
        // Everything possible was dispatched, so one more credit is at most one more RPC.
        if let Some(dispatch) = engine.next_dispatch() {
            completions.push_kept(dispatch);
        }
    }

    fn sends_alone(&self) -> bool {
        true
    }

    fn send(&mut self, snid: NodeId, answer: Box<Answer>) {
        self.engine.send(snid, answer);
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
    fn end_serving(&mut self, began: u64, served: usize, most: usize) {
        self.engine.end_serving(began, served, most);
    }

    #[inline(always)]
    fn settle(&mut self) {
        self.engine.flush(self.engine.now());
    }

    /// The engine assumes that a turn serves.
    fn note_unfinished(&mut self) {
        self.engine.note_unfinished();
    }

    fn finish(&mut self) {
        self.engine.finish();
    }

    fn rests(&mut self, may_block: bool) -> bool {
        self.engine.rest(self.engine.now(), may_block);
        true
    }
}

/// Over shared memory an inline worker serves runs, if there is one queue for all RPCs.
impl Core<Inline<Rings>> {
    /// As [`run`](Core::run), in runs if possible.
    pub(crate) fn run_in_runs(&mut self, service: &dyn Service) {
        if !self.source.engine.serves_runs() {
            return self.run(service);
        }
        let mut idle_since = None;
        loop {
            match self.turn_of_runs(service, true) {
                Turn::Glance => continue,
                Turn::Idle => {
                    self.note_rest(service);
                    self.rest(&mut idle_since);
                }
                Turn::Busy(_) => {}
            }
            // Not after a mere glance at the rings, but even under endless load.
            if self.is_stopped() {
                self.end_service(service);
                return self.finish();
            }
        }
    }

    /// As [`turn`](Core::turn), in runs if possible.
    #[inline]
    pub(crate) fn turn_in_runs(&mut self, service: &dyn Service) -> usize {
        if !self.source.engine.serves_runs() {
            return self.turn(service);
        }
        if let Turn::Busy(served) = self.turn_of_runs(service, false) { served } else { 0 }
    }

    #[inline(always)]
    fn turn_of_runs(&mut self, service: &dyn Service, may_glance: bool) -> Turn {
        if self.completions.frontend.outstanding() > 0 {
            self.finish_given(service);
        }
        self.source.engine.turn_of_runs(service, self.completions.steers(), may_glance)
    }

    /// Serves RPCs dispatched for `wait_for_rpc` and not taken, to regain all the credit.
    #[cold]
    fn finish_given(&mut self, service: &dyn Service) {
        while let Some(begun) = self.begin(service) {
            self.serve(begun, service);
        }
        self.settle();
    }
}
