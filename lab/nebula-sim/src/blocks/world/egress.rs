//! Station 1, in simulated time: clients draw RPCs; replies go out.
//!
//! Clients do not react to NACKs here: a NACKed RPC has ended, with infinite latency.
//!
//! Next: [`ingress`](super::ingress).

use super::super::map::Part;
use super::World;
use super::event::Event;
use nebula_nic::{SLOT_BYTES, Span, Timestamp};

impl World<'_> {
    #[inline]
    pub(super) fn schedule_arrival(&mut self) {
        self.calendar.set(self.arrival_source(), self.clients.at);
    }

    #[inline(always)]
    pub(super) fn arrive_next(&mut self, now: Timestamp) {
        let number = self.clients.drawn;
        let type_index = self.clients.draw();
        self.schedule_arrival();
        if number == self.length.warmup {
            self.opened = self.mark(now);
        }
        let is_measured = number.wrapping_sub(self.length.warmup) < self.length.rpcs;
        if number + 1 == self.length.warmup + self.length.rpcs {
            self.closed = Some(self.mark(now));
        }
        self.arrived += 1;
        self.arrive(now, type_index, is_measured);
    }

    /// All stores of an RPC are done: its reply or its copies are sent, and its buffer is free.
    #[inline(always)]
    pub(super) fn send_reply(&mut self, now: Timestamp, place: u32) {
        let message = self.messages.at(place);
        let (core, slots, reply) = (message.core, message.arrival.slots, message.reply);
        let kind = &self.compiled.types[usize::from(message.type_index)];
        if message.is_measured {
            self.tally.note_served(message, now);
            let is_late = message.latency(now).as_ps() > self.late_ps;
            self.note_ended(is_late);
        }
        self.messages.remove(place);
        let blocks = kind.reply_bytes.div_ceil(SLOT_BYTES);
        for _ in 0..kind.copies {
            self.memory.nic_read_run(now.as_ps(), reply, blocks, Part::Reply.label());
            if let Some(answer) = kind.answer {
                self.push(now + answer.after, Event::Answer(answer.type_index));
            }
        }
        if self.is_per_connection() {
            self.touch_send_metadata(now);
        }
        self.done += u64::from(kind.share > 0.0);
        self.push(now + self.delays.free, Event::Credit(core, slots.start.0, slots.slots));
    }

    /// The metadata of the send slot: each slot has its own, and each RPC uses a random slot.
    fn touch_send_metadata(&mut self, now: Timestamp) {
        let region = self.compiled.regions.send_metadata;
        for _ in 0..self.scenario.machine.deployment.slot_metadata_blocks {
            let block = region.at(self.draw_below(region.blocks));
            self.memory.nic_write(now.as_ps(), block, Part::Slots.label());
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a bound of 32 bits")]
    #[inline]
    pub(super) fn draw_below(&mut self, bound: u32) -> u32 {
        self.places.below(u64::from(bound)) as u32
    }

    /// The transmission time of this many bytes.
    #[inline]
    pub(super) const fn on_link(&self, bytes: u32) -> Span {
        Span::from_ps(self.delays.byte_fs * bytes as u64 / 1000)
    }
}
