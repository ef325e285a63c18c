//! Stations 2 to 6, in simulated time: packets arrive over the link, and their blocks are written.
//! The back end decides about the first packet of a message, and about the others when all are
//! written.
//!
//! Next: [`interleaved`](super::interleaved), for packets of several messages at a time.

use super::super::map::Part;
use super::super::program::Compiled;
use super::World;
use super::event::{Event, reach};
use super::message::Message;
pub(super) use crate::blocks::world::link::Receiving;
use crate::blocks::world::link::Waiting;
use nebula_memsys::Block;
use nebula_nic::{Header, Kind, NodeId, RpcKey, SLOT_BYTES, Span, Timestamp, TransferId, Verdict};

impl World<'_> {
    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Timestamp, type_index: u16, is_measured: bool) {
        if self.delays.client_byte_fs.is_some() {
            return self.begin_sending(now, type_index, is_measured);
        }
        let message = Waiting { type_index, is_measured, since: now };
        if self.link.receiving.is_some() {
            self.link.waiting.push_back(message);
        } else {
            self.begin_receiving(now, message);
        }
    }

    #[inline(always)]
    fn begin_receiving(&mut self, now: Timestamp, message: Waiting) {
        let Waiting { type_index, is_measured, since } = message;
        let receiving =
            Receiving { type_index, is_measured, begun: now, waited: now - since, packet: 0, message: None };
        self.link.receiving = Some(receiving);
        self.calendar.set(self.link_source(), now + self.on_link(self.bytes_until(type_index, 1)));
    }

    /// Bytes of the first packets of a message; the last packet may be short.
    #[inline]
    pub(super) fn bytes_until(&self, type_index: u16, packets: u32) -> u32 {
        (packets * SLOT_BYTES).min(self.compiled.types[usize::from(type_index)].request_bytes)
    }

    /// Receives packets of the message on the link, until one has to wait for its time.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Timestamp) {
        let Some(mut receiving) = self.link.receiving else { return };
        let packets = self.compiled.types[usize::from(receiving.type_index)].request_bytes.div_ceil(SLOT_BYTES);
        if receiving.packet == 0 {
            receiving.message = self.begin_message(now, &receiving, packets);
        }
        if let Some(place) = receiving.message
            && self.is_written_as_received(place, packets)
            && let Some(at) = self.write_packets(now, &mut receiving, place, packets)
        {
            self.calendar.set(self.link_source(), at);
            self.link.receiving = Some(receiving);
            return;
        }
        if let Some(place) = receiving.message {
            let written = self.messages.at(place).written.max(now);
            self.push(written + self.delays.notify, Event::Written(place));
        }
        let end = receiving.begun + self.on_link(self.bytes_until(receiving.type_index, packets));
        self.end_receiving(end.max(now));
    }

    fn end_receiving(&mut self, end: Timestamp) {
        self.link.receiving = None;
        match self.link.waiting.pop_front() {
            Some(message) => self.begin_receiving(end, message),
            None => self.calendar.clear(self.link_source()),
        }
    }

    /// Receives the first packet of a message: chooses its place in the slab, and in memory if that
    /// does not depend on the back end. `None` after a NACK.
    #[inline(always)]
    pub(super) fn begin_message(&mut self, now: Timestamp, receiving: &Receiving, packets: u32) -> Option<u32> {
        let mut message = self.draw_message(now, receiving);
        if self.is_remote(receiving.type_index) {
            return Some(self.messages.insert(message));
        }
        if self.is_per_connection() {
            let slot = self.draw_below(self.connection_slots());
            message.payload = self.place_in(slot, &message);
            self.memory.expect(message.payload, packets);
            self.touch_receive_metadata(now, slot);
            return Some(self.messages.insert(message));
        }
        let place = self.messages.insert(message);
        if packets > 1 && !self.handle_packets(now, place, 0, 1) {
            self.refuse(place);
            return None;
        }
        if packets > 1 && receiving.is_measured {
            self.tally.incomplete.record(self.backend.incomplete());
        }
        Some(place)
    }

    /// Where a message is written: where its receive slot begins, or near its core.
    #[inline]
    fn place_in(&mut self, slot: u32, message: &Message) -> Block {
        let regions = &self.compiled.regions;
        let start = regions.connection_receive.at(slot * regions.receive_slot_blocks);
        if self.near.is_none() {
            return start;
        }
        let header = self.header(message, 0, 0);
        self.near.as_mut().map_or(start, |near| near.moved(&self.memory, start, &header))
    }

    #[inline]
    fn connection_slots(&self) -> u32 {
        self.compiled.regions.receive_metadata.blocks
    }

    /// The receive slot's counter of packets.
    fn touch_receive_metadata(&mut self, now: Timestamp, slot: u32) {
        for _ in 0..self.scenario.machine.deployment.slot_metadata_blocks {
            let block = self.compiled.regions.receive_metadata.at(slot);
            self.memory.nic_write(now.as_ps(), block, Part::Slots.label());
        }
    }

    /// Draws the blocks that the RPC will touch.
    #[inline(always)]
    fn draw_message(&mut self, now: Timestamp, receiving: &Receiving) -> Message {
        let Compiled { regions, .. } = self.compiled;
        self.link.numbered = self.link.numbered.wrapping_add(1);
        let item_blocks = self.compiled.item_blocks;
        let items = regions.log.blocks / item_blocks.max(1);
        let item = match items {
            0 => 0,
            _ if self.compiled.is_appended => {
                self.appended = (self.appended + 1) % items;
                self.appended
            }
            _ => self.draw_below(items),
        };
        let bucket = if regions.index.blocks == 0 { 0 } else { scattered(item, regions.index.blocks) };
        let send = if self.is_per_connection() { regions.connection_send } else { regions.shared_send };
        let reply = self.draw_below(send.blocks / regions.slot_blocks) * regions.slot_blocks;
        let state = self.draw_below(regions.state.blocks.max(1));
        self.expect(receiving.type_index, regions.index.at(bucket), regions.log.at(item * item_blocks), send.at(reply));
        Message {
            snid: self.link.numbered,
            reply: send.at(reply),
            index: regions.index.at(bucket),
            item: regions.log.at(item * item_blocks),
            state,
            state_region: regions.state,
            ..Message::new(receiving.type_index, receiving.is_measured, now, receiving.waited)
        }
    }

    /// Prefetches the RPC's simulated cache sets, which are far apart, on the simulating machine.
    #[inline]
    fn expect(&self, type_index: u16, bucket: Block, item: Block, reply: Block) {
        self.memory.expect(bucket, 1);
        self.memory.expect(item, self.compiled.item_blocks);
        self.memory.expect(reply, self.compiled.types[usize::from(type_index)].reply_bytes.div_ceil(SLOT_BYTES));
    }

    /// Whether the blocks of a message are written packet by packet, as they are received.
    #[inline(always)]
    pub(super) fn is_written_as_received(&self, place: u32, packets: u32) -> bool {
        // A message of one packet gets its slots when it is complete.
        (packets > 1 || self.is_per_connection()) && !self.is_remote(self.messages.at(place).type_index)
    }

    /// Writes a message's next packets; returns when the first comes that has to wait for its time.
    #[inline(always)]
    fn write_packets(
        &mut self,
        now: Timestamp,
        receiving: &mut Receiving,
        place: u32,
        packets: u32,
    ) -> Option<Timestamp> {
        let (bytes, label) =
            (self.compiled.types[usize::from(receiving.type_index)].request_bytes, Part::Payload.label());
        let &Message { payload, mut written, .. } = self.messages.at(place);
        let mut waits_until = None;
        while receiving.packet < packets {
            let at = receiving.begun + self.on_link(((receiving.packet + 1) * SLOT_BYTES).min(bytes));
            let block = Block(payload.0 + receiving.packet);
            let Some(done) = self.memory.nic_write_within(at.as_ps(), block, label, reach(now, at.as_ps())) else {
                waits_until = Some(at);
                break;
            };
            written = written.max(Timestamp::from_ps(done.at_ps));
            receiving.begun += self.wait_for_memory(at, written);
            receiving.packet += 1;
        }
        self.messages.at_mut(place).written = written;
        waits_until
    }

    /// The link's wait for memory after a packet at `at`, with the blocks written at `written`.
    #[inline(always)]
    pub(super) fn wait_for_memory(&self, at: Timestamp, written: Timestamp) -> Span {
        let full = at + self.delays.unwritten;
        Span::from_ps(written.as_ps().saturating_sub(full.as_ps()))
    }

    /// All blocks of a message are written: the back end receives the last packet.
    #[inline(always)]
    pub(super) fn complete(&mut self, now: Timestamp, place: u32) {
        if self.is_remote(self.messages.at(place).type_index) {
            return self.begin_remote(now, place);
        }
        let packets =
            self.compiled.types[usize::from(self.messages.at(place).type_index)].request_bytes.div_ceil(SLOT_BYTES);
        let depth = self.backend.queue_depth();
        if self.messages.at(place).is_measured {
            self.tally.queue_depth.record(depth);
        }
        // With slots per connection, the back end has received no packet yet; otherwise the first
        // of several. No decision depends on when the ones between first and last came.
        let first = if self.is_per_connection() || packets == 1 { 0 } else { 1 };
        if !self.handle_packets(now, place, first, packets - first) {
            return self.refuse(place);
        }
        if packets == 1 && !self.is_per_connection() {
            let block = self.messages.at(place).payload;
            let done = self.memory.nic_write(now.as_ps(), block, Part::Payload.label());
            self.messages.at_mut(place).written = Timestamp::from_ps(done.at_ps);
        }
        self.hand_out(now);
    }

    #[inline(always)]
    fn header(&self, message: &Message, place: u32, packet: u32) -> Header {
        Header {
            kind: Kind::Request,
            snid: NodeId(message.snid),
            tid: TransferId(place),
            rpc_bytes: self.compiled.types[usize::from(message.type_index)].request_bytes,
            pkt_idx: packet,
            key_hash: message.snid.wrapping_mul(0x9e37_79b9),
        }
    }

    /// Passes `packets` packets from `packet` on to the back end; false after a NACK.
    #[inline(always)]
    fn handle_packets(&mut self, now: Timestamp, place: u32, packet: u32, packets: u32) -> bool {
        let header = self.header(self.messages.at(place), place, packet);
        let verdict = match packets {
            1 => self.backend.handle_packet(now, header),
            _ => self.backend.handle_packets(now, header, packets),
        };
        match verdict {
            Verdict::Write { slots, .. } => {
                if !self.is_per_connection() {
                    self.messages.at_mut(place).payload = self.compiled.regions.shared_receive.at(slots.start.0);
                }
                true
            }
            Verdict::Nack { .. } | Verdict::Drop { .. } => false,
        }
    }

    #[cold]
    fn refuse(&mut self, place: u32) {
        if self.messages.remove(place).is_measured {
            self.tally.nacked += 1;
            self.note_ended(true);
        }
    }

    pub(super) const fn place_of(rpc: RpcKey) -> u32 {
        rpc.tid.0
    }
}

/// The bucket of an item, deterministic.
#[inline]
const fn scattered(item: u32, buckets: u32) -> u32 {
    let hash = item.wrapping_add(1).wrapping_mul(0x9e37_79b1);
    ((hash as u64 * buckets as u64) >> 32) as u32
}
