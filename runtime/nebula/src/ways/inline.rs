//! A worker that is the engine too: RPCs come, and slots go back, by a call.

use super::completions::Completions;
use super::source::{Serving, Source};
use crate::engine::run::{Polled, Turn};
use crate::engine::turn::Engine;
use crate::nic::transport::Transport;
use crate::rpc::answer::Answer;
use crate::rpc::job::{Held, Served};
use crate::rpc::service::{Service, Stage};
use crate::transport::packets::port::PacketPort;
use crate::transport::shm::rings::Rings;
use crate::transport::stream::port::StreamPort;
use crate::transport::udp::port::UdpPort;
use nebula_nic::{Arrival, NodeId, Span, Timestamp};

/// A transport that an inline worker can poll. Over shared memory it serves runs, if there is one
/// queue for all RPCs.
pub(crate) trait InlineTransport: Transport + Sized {
    fn turn_of_runs(_: &mut Engine<Self>, _: &dyn Service, _may_prefetch: bool, _may_glance: bool) -> Turn {
        Turn::Idle
    }
}

impl InlineTransport for UdpPort {}
impl InlineTransport for StreamPort {}
impl InlineTransport for PacketPort {}

impl InlineTransport for Rings {
    fn turn_of_runs(engine: &mut Engine<Self>, service: &dyn Service, may_prefetch: bool, may_glance: bool) -> Turn {
        engine.turn_of_runs(service, may_prefetch, may_glance)
    }
}

#[derive(Debug)]
pub(crate) struct Inline<T> {
    engine: Engine<T>,
}

impl<T> Inline<T> {
    pub(crate) fn new(engine: Engine<T>) -> Self {
        Self { engine }
    }
}

impl<T: Transport> Inline<T> {
    /// Ends the ingress of a turn that took `packets`, and takes the RPCs dispatched then.
    #[inline(always)]
    fn end_pull(&mut self, now: Timestamp, packets: usize, completions: &mut Completions, service: &dyn Service) {
        let engine = &mut self.engine;
        // A pass for each stage, so that the misses of all arrivals overlap.
        if packets > 0 && completions.prefetches() {
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Arrived));
            engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Next));
        }
        engine.sort(now);
        engine.end_ingress(now, packets);
        while let Some(dispatch) = engine.next_dispatch() {
            completions.push_kept(dispatch);
        }
    }
}

impl<T: InlineTransport> Source for Inline<T> {
    fn pull(&mut self, completions: &mut Completions, service: &dyn Service, may_serve: bool) -> usize {
        let now = self.engine.begin_turn();
        let Polled { packets, served } = if may_serve {
            self.engine.poll_and_serve(now, service, completions.prefetches())
        } else {
            Polled { packets: self.engine.poll_packets(now), served: 0 }
        };
        self.end_pull(now, packets, completions, service);
        // `end_pull` has ended the previous turn: these count for this one.
        self.engine.count_served(served);
        served
    }

    fn serves_runs(&self) -> bool {
        self.engine.serves_runs()
    }

    fn turn_of_runs(&mut self, service: &dyn Service, may_prefetch: bool, may_glance: bool) -> Turn {
        T::turn_of_runs(&mut self.engine, service, may_prefetch, may_glance)
    }

    /// Nothing to steer: the engine has copied every payload through this core's cache.
    fn payload(&mut self, _: &mut Completions, arrival: &Arrival) -> Option<Held> {
        Some(self.engine.take_payload(arrival))
    }

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

    fn begin_serving(&mut self) -> Serving {
        Serving { most: self.engine.rpcs_per_turn(), began_ps: self.engine.begin_serving() }
    }

    fn end_serving(&mut self, Serving { most, began_ps }: Serving, served: usize) {
        self.engine.end_serving(began_ps, served, most);
    }

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

    fn is_about_to_sleep(&self, _: Span) -> bool {
        self.engine.is_about_to_sleep()
    }

    fn rests(&mut self, may_block: bool) -> bool {
        self.engine.rest(self.engine.now(), may_block);
        true
    }
}
