//! Stations 2 to 6, in real time: packets are read from the rings, decided about, and copied into the receive region.
//!
//! A slot's header is copied out of shared memory once, and so is its payload: what a client changes after that changes nothing here.
//!
//! Next: [`cpu`](super::cpu).

use super::Engine;
use super::cpu::Held;
use super::peers::Current;
use crate::transport::shm::slot::{Mark, SlotHeader, Slots};
use nebula_nic::{Header, Kind, Timestamp, TransferId, Verdict};

/// Packets taken in from one ring in a turn, so that no client starves the others. More than an inline worker serves in a turn: under
/// overload the queue then grows to its bound, and what is beyond it is refused, instead of waiting unseen in the ring.
const PACKETS_PER_RING: usize = 2 * crate::worker::RPCS_PER_TURN;
/// Packets of one ring refused in a turn, which is quickly done.
const NACKS_PER_RING: usize = 256;
/// Arrivals of one turn that are remembered for prefetching.
pub(super) const FRESH_MAX: usize = 64;
/// Rings of silent clients looked at in a turn, beyond which they take turns.
const RINGS_PER_TURN: usize = 64;

/// How far ahead of the cursor slots are fetched, in a state that the reply can be written in: enough for the lines of a burst to
/// cross the machine side by side and not one after the other.
const SLOTS_AHEAD: u32 = 8;

impl Engine {
    /// Takes what the rings hold, at most some packets of each. Returns the packets taken.
    #[inline]
    pub(crate) fn poll_rings(&mut self, now: Timestamp) -> usize {
        self.fresh.clear();
        let rings = self.rings.list.len();
        let looks = rings.min(RINGS_PER_TURN);
        let first = if rings > looks { self.turns as usize * looks % rings } else { 0 };
        let mut packets = 0;
        for look in 0..looks {
            let place = if first + look < rings { first + look } else { first + look - rings };
            packets += self.poll_ring(now, place);
        }
        packets
    }

    #[inline(always)]
    fn poll_ring(&mut self, now: Timestamp, place: usize) -> usize {
        let Self { rings, backend, first_slot, region, held, recorder, fresh, .. } = self;
        let ring = &mut rings.list[place];
        if ring.is_gone {
            return 0;
        }
        let channel = &*ring.channel;
        let (slots, snid) = (channel.slots(), channel.snid());
        let mut reader = Reader { cursor: ring.cursor, current: ring.current };
        let (mut taken, mut refused) = (0, 0);
        let is_sound = loop {
            let Some(slot) = slots.header(reader.cursor).filter(|slot| slot.mark == Mark::Request) else { break true };
            slots.prefetch_write(reader.cursor);
            slots.prefetch_read(reader.cursor.wrapping_add(SLOTS_AHEAD));
            let Some(current) = reader.current(&slot, slots) else { break false };
            let Current { base, rpc_bytes, span, .. } = current;
            let (tid, pkt_idx, key_hash) = (TransferId(base), slot.pkt_idx, slot.extra);
            let header = Header { kind: Kind::Request, snid, tid, rpc_bytes, pkt_idx, key_hash };
            let verdict = backend.handle_packet(now, header);
            if let Some(recorder) = recorder {
                recorder.packet(now, header, verdict);
            }
            match verdict {
                Verdict::Write { slots: range, offset_bytes, bytes, complete } => {
                    let place = &mut held[range.start.0 as usize];
                    if slot.pkt_idx == 0 {
                        ring.in_flight += 1;
                        let lease = region.lease(range.start.0 - *first_slot, range.slots);
                        let lease = lease.expect("the back end gives out free slots only");
                        *place = Some(Held { lease, span });
                    }
                    let Some(Held { lease, .. }) = place else { unreachable!("leased with the first packet") };
                    lease.write(offset_bytes as usize, slots.payload(reader.cursor), bytes as usize);
                    reader.advance(current, pkt_idx + 1);
                    if complete && fresh.len() < FRESH_MAX {
                        fresh.push((range.start.0, rpc_bytes));
                    }
                }
                Verdict::Nack { reason } => {
                    channel.nack(base, reason);
                    reader.skip(current);
                    refused += 1;
                }
                // The packets of an RPC are read once and in order, so none can be dropped; its client would wait for good.
                Verdict::Drop { .. } => break false,
            }
            taken += 1;
            if taken - refused == PACKETS_PER_RING || refused == NACKS_PER_RING {
                break true;
            }
        };
        (ring.cursor, ring.current) = (reader.cursor, reader.current);
        if !is_sound {
            rings.cut_off(place);
        }
        taken
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

/// Where the engine stands in a ring.
struct Reader {
    cursor: u32,
    current: Option<Current>,
}

impl Reader {
    /// The RPC that the packet in `slot` is of; `None` when the packet cannot be: the client does not keep to the protocol.
    #[inline(always)]
    fn current(&self, slot: &SlotHeader, slots: Slots<'_>) -> Option<Current> {
        match self.current {
            None => {
                let packets = slots.geometry().packets(slot.rpc_bytes);
                let is_sound = slot.pkt_idx == 0 && packets <= slot.span && slot.span <= slots.geometry().slots;
                is_sound.then_some(Current { base: self.cursor, span: slot.span, rpc_bytes: slot.rpc_bytes, packets })
            }
            Some(current) => {
                let expected = self.cursor.wrapping_sub(current.base);
                (slot.pkt_idx == expected && slot.rpc_bytes == current.rpc_bytes).then_some(current)
            }
        }
    }

    /// Moves the cursor behind a packet, and behind the RPC when it was the last.
    #[inline(always)]
    fn advance(&mut self, current: Current, next: u32) {
        if next == current.packets {
            self.skip(current);
        } else {
            self.cursor = self.cursor.wrapping_add(1);
            self.current = Some(current);
        }
    }

    /// Moves the cursor behind an RPC.
    #[inline(always)]
    fn skip(&mut self, current: Current) {
        self.cursor = current.base.wrapping_add(current.span);
        self.current = None;
    }
}
