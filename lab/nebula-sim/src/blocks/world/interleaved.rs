//! Station 2 if each client has a link: packets of different RPCs interleave on the server's link.
//!
//! ```text
//! client a ── a0 ───────── a1 ───────── a2 ──▶ ┐
//! client b ──────── b0 ───────── b1 ─────────▶ ├─ first in, first out ──▶ a0 b0 a1 b1 a2
//! ```
//!
//! A client sends one packet after another at its own rate, and each waits at the server's link
//! until those before it are through. A client whose link is as fast as the server's delivers a
//! lone message as fast as if it came at once.
//!
//! Next: [`cpu`](super::cpu).

use super::super::map::Part;
use super::World;
use super::event::Event;
use super::link::Receiving;
use nebula_memsys::Block;
use nebula_nic::{SLOT_BYTES, Span, Timestamp};

impl World<'_> {
    pub(super) fn begin_sending(&mut self, now: Timestamp, type_index: u16, is_measured: bool) {
        let waited = Span::ZERO;
        let message = Receiving { type_index, is_measured, begun: now, waited, packet: 0, message: None };
        let sender = self.link.senders.all.insert(message);
        self.queue_packet(now, sender, 0);
    }

    /// A packet reaches the server's link, and the client goes on with the next.
    pub(super) fn queue_packet(&mut self, now: Timestamp, sender: u32, packet: u32) {
        let Receiving { type_index, .. } = *self.link.senders.all.at(sender);
        self.link.senders.packets.push_back((sender, packet, now));
        if self.link.senders.packets.len() == 1 {
            self.carry_packet();
        }
        if packet + 1 < self.packets_of(type_index) {
            let bytes = self.bytes_of(type_index, packet);
            let on_way = Span::from_ps(self.delays.client_byte_fs.unwrap_or(0) * u64::from(bytes) / 1000);
            self.push(now + on_way, Event::AtLink(sender, packet + 1));
        }
    }

    /// The link carries the packet that has waited longest.
    fn carry_packet(&mut self) {
        let Some(&(sender, packet, reached)) = self.link.senders.packets.front() else { return };
        let message = self.link.senders.all.at_mut(sender);
        let begun = self.link.senders.free_at.max(reached);
        if packet == 0 {
            message.waited = begun - reached;
        }
        let type_index = message.type_index;
        let bytes = self.bytes_of(type_index, packet);
        self.push(begun + self.on_link(bytes), Event::Received(sender, packet));
    }

    fn bytes_of(&self, type_index: u16, packet: u32) -> u32 {
        self.bytes_until(type_index, packet + 1) - packet * SLOT_BYTES
    }

    pub(super) fn receive_packet(&mut self, now: Timestamp, sender: u32, packet: u32) {
        self.link.senders.packets.pop_front();
        let waits = self.take_packet(now, sender, packet);
        self.link.senders.free_at = now + waits;
        self.carry_packet();
    }

    /// Takes a packet; returns how long the link then waits. Packets of a refused RPC are dropped.
    fn take_packet(&mut self, now: Timestamp, sender: u32, packet: u32) -> Span {
        let message = *self.link.senders.all.at(sender);
        let packets = self.packets_of(message.type_index);
        let rpc = if packet == 0 { self.begin_message(now, &message, packets) } else { message.message };
        self.link.senders.all.at_mut(sender).message = rpc;
        let is_last = packet + 1 == packets;
        if is_last {
            self.link.senders.all.remove(sender);
        }
        let Some(place) = rpc else { return Span::ZERO };
        if self.is_written_as_received(place, packets) {
            let block = Block(self.messages.at(place).payload.0 + packet);
            let done = self.memory.nic_write(now.as_ps(), block, Part::Payload.label());
            let message = self.messages.at_mut(place);
            message.written = message.written.max(Timestamp::from_ps(done.at_ps));
        }
        if is_last {
            let written = self.messages.at(place).written.max(now);
            self.push(written + self.delays.notify, Event::Written(place));
        }
        self.wait_for_memory(now, self.messages.at(place).written)
    }

    fn packets_of(&self, type_index: u16) -> u32 {
        self.compiled.types[usize::from(type_index)].request_bytes.div_ceil(SLOT_BYTES)
    }
}
