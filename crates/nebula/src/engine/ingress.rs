//! Stations 2 to 6, in real time: packets are read from the rings, decided about, and copied into the receive region.
//!
//! A slot's header is copied out of shared memory once, and so is its payload: what a client changes after that changes nothing here.
//!
//! Next: [`cpu`](super::cpu).

use super::Engine;
use super::cpu::Held;
use super::peers::{Current, PeerRing};
use crate::transport::shm::slot::{Mark, SlotHeader, Slots};
use nebula_nic::{Header, Kind, NackReason, SlotRange, Timestamp, TransferId, Verdict};

/// Packets taken from one ring in a turn, so that no client starves the others.
const PACKETS_PER_RING: usize = 16;
/// Arrivals of one turn that are remembered for prefetching.
pub(super) const FRESH_MAX: usize = 64;
/// Rings of silent clients looked at in a turn, beyond which they take turns.
const RINGS_PER_TURN: usize = 64;

/// How far ahead of the cursor slots are fetched, in a state that the reply can be written in: enough for the lines of a burst to
/// cross the machine side by side and not one after the other.
const SLOTS_AHEAD: u32 = 8;

/// What to do with a slot.
enum Packet {
    /// Nothing there yet.
    None,
    /// Decided about: go on.
    Taken,
    /// The client writes nonsense.
    Violation,
}

impl Engine {
    /// Takes what the rings hold, at most some packets of each; `on_arrival` sees each RPC that became whole. Returns the packets taken.
    #[inline]
    pub(crate) fn poll_rings(&mut self, now: Timestamp, mut on_arrival: impl FnMut(&[u8])) -> usize {
        self.fresh.clear();
        let rings = self.rings.list.len();
        let looks = rings.min(RINGS_PER_TURN);
        let first = if rings > looks { self.turns as usize * looks % rings } else { 0 };
        let mut packets = 0;
        for look in 0..looks {
            let place = if first + look < rings { first + look } else { first + look - rings };
            packets += self.poll_ring(now, place, &mut on_arrival);
        }
        packets
    }

    #[inline(always)]
    fn poll_ring(&mut self, now: Timestamp, place: usize, on_arrival: &mut impl FnMut(&[u8])) -> usize {
        for taken in 0..PACKETS_PER_RING {
            match self.poll_slot(now, place, on_arrival) {
                Packet::Taken => {}
                Packet::None => return taken,
                Packet::Violation => {
                    self.rings.cut_off(place);
                    return taken;
                }
            }
        }
        PACKETS_PER_RING
    }

    #[inline(always)]
    fn poll_slot(&mut self, now: Timestamp, place: usize, on_arrival: &mut impl FnMut(&[u8])) -> Packet {
        let ring = &mut self.rings.list[place];
        if ring.is_gone {
            return Packet::None;
        }
        let slots = ring.channel.slots();
        let Some(slot) = slots.header(ring.cursor) else { return Packet::None };
        if slot.mark != Mark::Request {
            return Packet::None;
        }
        slots.prefetch_write(ring.cursor);
        slots.prefetch_read(ring.cursor.wrapping_add(SLOTS_AHEAD));
        let Some(current) = current(ring, &slot, slots) else { return Packet::Violation };
        let rpc_bytes = current.rpc_bytes;
        let header = Header {
            kind: Kind::Request,
            snid: ring.channel.snid(),
            tid: TransferId(current.base),
            rpc_bytes,
            pkt_idx: slot.pkt_idx,
            key_hash: slot.extra,
        };
        let verdict = self.backend.handle_packet(now, header);
        if let Some(recorder) = &mut self.recorder {
            recorder.packet(now, header, verdict);
        }
        match verdict {
            Verdict::Write { slots: range, offset_bytes, bytes, complete } => {
                if slot.pkt_idx == 0 {
                    ring.in_flight += 1;
                    let lease = self.region.lease(range.start.0, range.slots);
                    let lease = lease.expect("the back end gives out free slots only");
                    self.held[range.start.0 as usize] = Some(Held { lease, span: current.span });
                }
                let held = self.held[range.start.0 as usize].as_mut().expect("leased with the first packet");
                held.lease.write(offset_bytes as usize, slots.payload(ring.cursor), bytes as usize);
                advance(ring, current, slot.pkt_idx + 1);
                if complete {
                    on_arrival(held.lease.payload(rpc_bytes as usize));
                    self.remember(range, rpc_bytes);
                }
            }
            Verdict::Nack { reason } => refuse(ring, current, reason),
            // The packets of an RPC are read once and in order, so none of them can be dropped; its client would wait for good.
            Verdict::Drop { .. } => return Packet::Violation,
        }
        Packet::Taken
    }

    #[inline(always)]
    fn remember(&mut self, range: SlotRange, bytes: u32) {
        if self.fresh.len() < FRESH_MAX {
            self.fresh.push((range.start.0, bytes));
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

/// The RPC that the packet in `slot` is of; `None` when the packet cannot be: the client does not keep to the protocol.
#[inline(always)]
fn current(ring: &PeerRing, slot: &SlotHeader, slots: Slots<'_>) -> Option<Current> {
    match ring.current {
        None => {
            let packets = slots.geometry().packets(slot.rpc_bytes);
            let is_sound = slot.pkt_idx == 0 && packets <= slot.span && slot.span <= slots.geometry().slots;
            is_sound.then_some(Current { base: ring.cursor, span: slot.span, rpc_bytes: slot.rpc_bytes, packets })
        }
        Some(current) => {
            let expected = ring.cursor.wrapping_sub(current.base);
            (slot.pkt_idx == expected && slot.rpc_bytes == current.rpc_bytes).then_some(current)
        }
    }
}

/// Moves the cursor behind a packet, and behind the RPC when it was the last.
#[inline(always)]
fn advance(ring: &mut PeerRing, current: Current, next: u32) {
    if next == current.packets {
        ring.cursor = current.base.wrapping_add(current.span);
        ring.current = None;
    } else {
        ring.cursor = ring.cursor.wrapping_add(1);
        ring.current = Some(current);
    }
}

/// Answers an RPC with a NACK and goes on behind it.
#[inline(always)]
fn refuse(ring: &mut PeerRing, current: Current, reason: NackReason) {
    ring.channel.nack(current.base, reason);
    ring.cursor = current.base.wrapping_add(current.span);
    ring.current = None;
}
