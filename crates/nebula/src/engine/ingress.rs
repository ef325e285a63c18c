//! Stations 2 to 6, in real time: packets come in by the transport, are decided about, and copied into the receive region.
//!
//! A packet's header is read once, and its payload is copied once: what its sender changes after that changes nothing here.
//!
//! Next: [`dispatch`](super::dispatch).

use super::Engine;
use super::groups::Neighbors;
use super::payloads::Payloads;
use super::port::{Port, Transport};
use super::recorder::Recorder;
use super::run::AtOnce;
use nebula_nic::{Backend, Burst, CoreId, Header, Missing, RpcKey, Run, SlotRange, Timestamp, Verdict};

/// Arrivals of one turn that are remembered for prefetching.
pub(super) const FRESH_MAX: usize = 64;

/// What a transport hands packets to: the decider, and the memory that its decisions are about.
#[derive(Debug)]
pub(crate) struct Intake<'e> {
    pub(crate) backend: &'e mut Backend,
    neighbors: &'e mut Option<Box<Neighbors>>,
    pub(crate) payloads: &'e mut Payloads,
    recorder: &'e mut Option<Recorder>,
    fresh: &'e mut Vec<(u32, u32)>,
}

impl Intake<'_> {
    /// Has a packet decided about.
    #[inline(always)]
    pub(crate) fn receive(&mut self, now: Timestamp, header: Header) -> Verdict {
        let verdict = self.backend.handle_packet(now, header);
        if let (Some(neighbors), Verdict::Write { complete: true, .. }) = (&mut *self.neighbors, verdict) {
            neighbors.handle_arrival(now);
        }
        if let Some(recorder) = self.recorder {
            recorder.packet(now, header, verdict);
        }
        verdict
    }

    /// Has a burst decided about, whose sizes were written to the back end's places; what was taken in of it.
    #[inline(always)]
    pub(crate) fn receive_burst(&mut self, now: Timestamp, burst: &Burst, rpcs: u32) -> Option<Run> {
        let run = self.backend.handle_burst(now, burst, rpcs)?;
        if let Some(recorder) = self.recorder {
            recorder.burst(now, &run, self.backend.rpcs_of(&run));
        }
        Some(run)
    }

    /// As [`receive_burst`](Self::receive_burst), where the core of this thread serves it at once; `None` where it cannot.
    #[inline(always)]
    pub(crate) fn receive_burst_for(&mut self, now: Timestamp, core: CoreId, burst: &Burst, rpcs: u32) -> Option<Run> {
        let run = self.backend.handle_burst_for(now, core, burst, rpcs)?;
        if let Some(recorder) = self.recorder {
            recorder.burst(now, &run, self.backend.rpcs_of(&run));
        }
        Some(run)
    }

    /// Takes back what the core of this thread has served.
    #[inline(always)]
    pub(crate) fn free_run(&mut self, now: Timestamp, core: CoreId, run: &Run) {
        if let Some(recorder) = self.recorder {
            recorder.run(now, core, run, self.backend.rpcs_of(run));
        }
        self.backend.handle_run_freed(core, run);
    }

    /// Which packets of an incomplete RPC have arrived.
    pub(crate) fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        self.backend.missing(rpc)
    }

    /// Notes that an RPC is whole.
    #[inline(always)]
    pub(crate) fn note_fresh(&mut self, range: SlotRange, rpc_bytes: u32) {
        if self.fresh.len() < FRESH_MAX {
            self.fresh.push((range.start.0, rpc_bytes));
        }
    }
}

impl Engine {
    /// Takes what has come, at most some packets of each client. Returns the packets.
    #[inline]
    pub(crate) fn poll_packets(&mut self, now: Timestamp) -> usize {
        let Self { port, backend, neighbors, payloads, recorder, fresh, .. } = self;
        fresh.clear();
        let mut intake = Intake { backend, neighbors, payloads, recorder, fresh };
        match port {
            Port::Shm(rings) => rings.poll(now, &mut intake),
            Port::Udp(udp) => udp.poll(now, &mut intake),
        }
    }

    /// As [`poll_packets`](Self::poll_packets), over shared memory; what can be served at once is, by `at_once`.
    #[inline(always)]
    pub(super) fn poll_and_serve(&mut self, now: Timestamp, at_once: &mut impl AtOnce) -> usize {
        let Self { port, backend, neighbors, payloads, recorder, fresh, .. } = self;
        let mut intake = Intake { backend, neighbors, payloads, recorder, fresh };
        match port {
            Port::Shm(rings) => rings.poll_and_serve(now, &mut intake, at_once),
            Port::Udp(udp) => udp.poll(now, &mut intake),
        }
    }

    /// Calls `visit` with the payload of each RPC that arrived in this turn.
    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, mut visit: impl FnMut(&[u8])) {
        for &(start, bytes) in &self.fresh {
            visit(self.payloads.payload(start, bytes));
        }
    }
}
