//! The clients of a server over shared memory: who has come, where each ring was read up to, who is gone.

use super::channel::Channel;
use super::listener::{Letter, Mailbox, seat};
use super::registry::Registry;
use super::slot::{Mark, SlotHeader, Slots};
use crate::engine::ingress::Intake;
use crate::engine::port::Transport;
use crate::transport::Answer;
use nebula_nic::{Header, Kind, NodeId, RpcKey, Timestamp, TransferId, Verdict};
use std::sync::Arc;

/// Packets taken in from one ring in a turn, so that no client starves the others. More than an inline worker serves in a turn: under
/// overload the queue then grows to its bound, and what is beyond it is refused, instead of waiting unseen in the ring.
const PACKETS_PER_RING: usize = 2 * crate::worker::RPCS_PER_TURN;
/// Packets of one ring refused in a turn, which is quickly done.
const NACKS_PER_RING: usize = 256;
/// Rings of silent clients looked at in a turn, beyond which they take turns.
const RINGS_PER_TURN: usize = 64;

/// How far ahead of the cursor slots are fetched, in a state that the reply can be written in: enough for the lines of a burst to
/// cross the machine side by side and not one after the other.
const SLOTS_AHEAD: u32 = 8;

/// A client's ring, and where the engine stands in it.
#[derive(Debug)]
struct PeerRing {
    channel: Arc<Channel>,
    /// Position of the next packet.
    cursor: u32,
    /// The RPC of several packets that the cursor is inside of.
    current: Option<Current>,
    /// RPCs taken in and not freed.
    in_flight: u32,
    is_gone: bool,
}

/// An RPC of several packets, some of which have come.
#[derive(Clone, Copy, Debug)]
struct Current {
    base: u32,
    span: u32,
    rpc_bytes: u32,
    packets: u32,
}

/// All clients: a dense list to poll, and where each one stands in it.
#[derive(Debug)]
pub(crate) struct Rings {
    list: Vec<PeerRing>,
    /// By client index: index into `list`.
    places: Box<[u32]>,
    violations: u64,
    turns: u32,
    registry: Arc<Registry>,
    mailbox: Arc<Mailbox>,
}

const NOWHERE: u32 = u32::MAX;

impl Rings {
    pub(crate) fn new(clients_max: u16, registry: Arc<Registry>, mailbox: Arc<Mailbox>) -> Self {
        let places = vec![NOWHERE; usize::from(clients_max)].into();
        Self { list: Vec::new(), places, violations: 0, turns: 0, registry, mailbox }
    }

    fn len(&self) -> u32 {
        u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    fn place(&self, snid: NodeId) -> Option<usize> {
        let place = *self.places.get(seat(snid))? as usize;
        (self.list.get(place)?.channel.snid() == snid).then_some(place)
    }

    /// What the listener has seen, if anything: one load of a line that hardly ever changes.
    #[inline(always)]
    pub(crate) fn letters(&self) -> Option<Vec<Letter>> {
        self.mailbox.collect()
    }

    pub(crate) fn attach(&mut self, channel: Arc<Channel>) {
        self.registry.insert(channel.clone());
        self.places[seat(channel.snid())] = self.len();
        self.list.push(PeerRing { channel, cursor: 0, current: None, in_flight: 0, is_gone: false });
    }

    /// Forgets a client that is gone: its ring stays until the last of its RPCs is over.
    pub(crate) fn forget(&mut self, snid: NodeId) {
        let Some(place) = self.place(snid) else { return };
        let ring = &mut self.list[place];
        ring.is_gone = true;
        if ring.in_flight == 0 {
            self.remove(place);
        }
    }

    #[cold]
    fn remove(&mut self, place: usize) {
        let gone = self.list.swap_remove(place);
        let snid = gone.channel.snid();
        self.places[seat(snid)] = NOWHERE;
        if let Some(moved) = self.list.get(place) {
            self.places[seat(moved.channel.snid())] = u32::try_from(place).unwrap_or(NOWHERE);
        }
        self.registry.remove(snid);
        self.mailbox.retire(snid);
    }

    /// Cuts off a client whose ring makes no sense. What it has in flight runs on.
    #[cold]
    fn cut_off(&mut self, place: usize) {
        self.violations += 1;
        let ring = &mut self.list[place];
        ring.is_gone = true;
        ring.channel.disconnect();
    }

    #[inline(always)]
    fn poll_ring(&mut self, now: Timestamp, place: usize, intake: &mut Intake<'_>) -> usize {
        let ring = &mut self.list[place];
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
            match intake.receive(now, header) {
                Verdict::Write { slots: range, offset_bytes, bytes, complete } => {
                    if slot.pkt_idx == 0 {
                        ring.in_flight += 1;
                    }
                    let held = intake.hold(range, || (span, None));
                    held.lease.write(offset_bytes as usize, slots.payload(reader.cursor), bytes as usize);
                    reader.advance(current, pkt_idx + 1);
                    if complete {
                        intake.note_fresh(range, rpc_bytes);
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
            self.cut_off(place);
        }
        taken
    }
}

impl Transport for Rings {
    #[inline]
    fn poll(&mut self, now: Timestamp, intake: &mut Intake<'_>) -> usize {
        let rings = self.list.len();
        let looks = rings.min(RINGS_PER_TURN);
        let first = if rings > looks { self.turns as usize * looks % rings } else { 0 };
        self.turns = self.turns.wrapping_add(1);
        let mut packets = 0;
        for look in 0..looks {
            let place = if first + look < rings { first + look } else { first + look - rings };
            packets += self.poll_ring(now, place, intake);
        }
        packets
    }

    /// The last RPC of a client that is gone takes the ring along. The reply lies in the ring already.
    #[inline(always)]
    fn ended(&mut self, snid: NodeId, _: Option<Box<Answer>>) {
        if let Some(place) = self.place(snid) {
            let ring = &mut self.list[place];
            ring.in_flight -= 1;
            if ring.is_gone && ring.in_flight == 0 {
                self.remove(place);
            }
        }
    }

    /// The client is told, unless it is gone, and the cursor goes on behind the RPC.
    fn abandoned(&mut self, rpc: RpcKey, _: Option<Box<Answer>>) {
        let Some(place) = self.place(rpc.snid) else { return };
        let ring = &mut self.list[place];
        ring.in_flight -= 1;
        if let Some(current) = ring.current.filter(|current| current.base == rpc.tid.0) {
            ring.cursor = current.base.wrapping_add(current.span);
            ring.current = None;
            ring.channel.nack(current.base, nebula_nic::NackReason::Incomplete);
        }
    }

    /// Replies are in their rings as soon as they are published.
    #[inline(always)]
    fn flush(&mut self, _: Timestamp) {}

    fn clients(&self) -> u32 {
        self.len()
    }

    fn violations(&self) -> u64 {
        self.violations
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
