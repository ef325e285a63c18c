//! Stations 2 to 6, in real time: packets come in by the transport, are decided about, and copied into the receive region.
//!
//! A packet's header is read once, and its payload is copied once: what its sender changes after that changes nothing here.
//!
//! Next: [`dispatch`](super::dispatch).

use super::Engine;
use super::cpu::Held;
use super::groups::Neighbors;
use super::port::{Port, Transport};
use super::recorder::Recorder;
use crate::transport::Answer;
use nebula_nic::{Backend, Header, Missing, RpcKey, SlotRange, Timestamp, Verdict};
use nebula_sys::region::RecvRegion;

/// Arrivals of one turn that are remembered for prefetching.
pub(super) const FRESH_MAX: usize = 64;

/// What a transport hands packets to: the decider, and the memory that its decisions are about.
#[derive(Debug)]
pub(crate) struct Intake<'e> {
    backend: &'e mut Backend,
    neighbors: &'e mut Option<Box<Neighbors>>,
    region: &'e mut RecvRegion,
    held: &'e mut [Option<Held>],
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

    /// The slots of an RPC, one of whose packets is to be written: leased with the first of them, and then held with what `first` gives,
    /// the span of the RPC in its ring and the room for its answer.
    #[inline(always)]
    pub(crate) fn hold(&mut self, range: SlotRange, first: impl FnOnce() -> (u32, Option<Box<Answer>>)) -> &mut Held {
        let place = &mut self.held[range.start.0 as usize];
        place.get_or_insert_with(|| {
            let lease = self.region.lease(range.start.0 - self.backend.first_slot(), range.slots);
            let lease = lease.expect("the back end gives out free slots only");
            let (span, answer) = first();
            Held { lease, span, answer }
        })
    }

    /// The room for the answer of an RPC that no core has begun, by its first slot.
    pub(crate) fn waiting_answer(&mut self, start: u32) -> Option<&mut Answer> {
        self.held.get_mut(start as usize)?.as_mut()?.answer.as_deref_mut()
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
        let Self { port, backend, neighbors, region, held, recorder, fresh, .. } = self;
        fresh.clear();
        let mut intake = Intake { backend, neighbors, region, held, recorder, fresh };
        match port {
            Port::Shm(rings) => rings.poll(now, &mut intake),
            Port::Udp(udp) => udp.poll(now, &mut intake),
        }
    }

    /// Calls `visit` with the payload of each RPC that arrived in this turn.
    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, mut visit: impl FnMut(&[u8])) {
        for &(start, bytes) in &self.fresh {
            if let Some(held) = &self.held[start as usize] {
                visit(held.lease.payload(bytes as usize));
            }
        }
    }
}
