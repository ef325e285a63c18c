//! The network interface: arrivals, the blocks that they move, and when an RPC is ready.
//!
//! Next: `cpu`.

use super::Machine;
use super::event::{ARRIVAL, READY, Stop};
pub(super) use crate::memory::machine::interface::Fetch;
use nebula_nic::{Header, NodeId, Timestamp, TransferId, Verdict};
use std::cmp::Reverse;

impl Machine {
    /// Schedules the RPC after one that arrives at `now`.
    pub(super) fn schedule_arrival(&mut self, now: Timestamp) {
        let at = now + self.ni.arrivals.next_gap(&mut self.ni.arrival_rng);
        let latest = self.calendar.latest();
        // Arrivals may use half of the clock's range: an RPC's other events follow soon.
        if at.as_ps() > latest.as_ps() / 2 {
            self.stop = Some(Stop::NoTime(latest.as_ps() / 2 / PS_PER_HOUR));
        } else {
            self.calendar.set(self.cores.len() + ARRIVAL, at);
        }
    }

    /// The first packet of an RPC arrives.
    pub(super) fn handle_arrival(&mut self, now: Timestamp) {
        let number = self.meter.note_arrival(now);
        if self.ni.llc.hits_ni() {
            self.expect(number, now + self.ni.packets);
        } else {
            self.fetches.begin(now, self.blocks, Fetch { number, ready: now });
        }
        self.schedule_arrival(now);
    }

    /// Makes the fetch that is due; returns whether it is the last of its RPC.
    pub(super) fn make_fetch(&mut self) -> bool {
        let Some(mut fetch) = self.fetches.pop() else { return false };
        fetch.note.ready = fetch.note.ready.max(self.dram.access(fetch.at).done);
        if !fetch.is_last() {
            self.fetches.resume(fetch);
            return false;
        }
        if !self.ni.llc.hits_ni() {
            self.streams.begin(fetch.at, self.blocks, ());
        }
        self.expect(fetch.note.number, fetch.note.ready);
        true
    }

    /// The earliest RPC is ready: it goes to the NIC's back end.
    pub(super) fn handle_ready(&mut self, now: Timestamp) {
        if let Some(Reverse((_, number))) = self.ni.coming.pop() {
            self.meter.note_ready(number, self.backend.queue_depth());
            match self.backend.handle_packet(now, header(number)) {
                Verdict::Write { .. } => self.dispatch(now),
                Verdict::Nack { .. } | Verdict::Drop { .. } => self.stop = Some(Stop::NoRoom),
            }
        }
        self.schedule_ready();
    }

    fn expect(&mut self, number: u64, ready: Timestamp) {
        self.ni.coming.push(Reverse((ready, number)));
        self.schedule_ready();
    }

    fn schedule_ready(&mut self) {
        let source = self.cores.len() + READY;
        match self.ni.coming.peek() {
            Some(&Reverse((ready, _))) => self.calendar.set(source, ready),
            None => self.calendar.clear(source),
        }
    }
}

/// The one packet that stands for an RPC.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
const fn header(number: u64) -> Header {
    let (snid, tid) = (NodeId((number >> 32) as u32), TransferId(number as u32));
    Header { kind: nebula_nic::Kind::Request, snid, tid, rpc_bytes: 64, pkt_idx: 0, key_hash: 0 }
}

const PS_PER_HOUR: u64 = 3_600 * 1_000_000_000_000;
