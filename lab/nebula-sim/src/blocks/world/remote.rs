//! One-sided operations, in simulated time: the NIC reads and writes memory for other nodes,
//! without admission, slot, queue or core, as in `nebula-nic`'s `one_sided`.

use super::super::program::Remote;
use super::super::tally::Stage;
use super::{Event, World};
use nebula_memsys::Block;
use nebula_nic::Timestamp;

impl World<'_> {
    #[inline(always)]
    pub(super) fn is_remote(&self, type_index: u16) -> bool {
        !self.compiled.types[usize::from(type_index)].remote.is_empty()
    }

    /// The NIC has received a complete operation.
    #[cold]
    pub(super) fn begin_remote(&mut self, now: Timestamp, place: u32) {
        let message = self.messages.at_mut(place);
        message.begun = now;
        message.stages.add(Stage::Link, message.waited.as_ps());
        message.stages.add(Stage::Receive, (now - message.first).as_ps());
        self.advance_remote(now, place);
    }

    /// Carries out the next step: each at its time, so that DRAM sees accesses in order.
    pub(super) fn advance_remote(&mut self, now: Timestamp, place: u32) {
        let message = self.messages.at_mut(place);
        let steps = &self.compiled.types[usize::from(message.type_index)].remote;
        let Some(&step) = steps.get(usize::from(message.step)) else { return self.finish_remote(now, place) };
        message.step += 1;
        let done = match step {
            Remote::Read(part, blocks) => {
                let first = message.block(part, 0);
                let read_ps = self.memory.nic_read_run(now.as_ps(), first, blocks, part.label());
                self.note_access(now, place, Stage::of(part), read_ps)
            }
            Remote::Write(part, blocks) => {
                let first = message.block(part, 0);
                let write = |last_ps: u64, block| {
                    let done = self.memory.nic_write(now.as_ps(), Block(first.0 + block), part.label());
                    done.at_ps.max(last_ps)
                };
                let written_ps = (0..blocks).fold(now.as_ps(), write);
                self.note_access(now, place, Stage::of(part), written_ps)
            }
            Remote::RoundTrip(span) => {
                message.away += span;
                now + span
            }
        };
        self.push(done, Event::Remote(place));
    }

    /// The NIC waits for memory until `done_ps`.
    fn note_access(&mut self, now: Timestamp, place: u32, stage: Stage, done_ps: u64) -> Timestamp {
        self.messages.at_mut(place).stages.add(stage, done_ps - now.as_ps());
        Timestamp::from_ps(done_ps)
    }

    fn finish_remote(&mut self, now: Timestamp, place: u32) {
        let mut message = self.messages.remove(place);
        // The client's round trips are no service time.
        message.begun += message.away;
        self.done += 1;
        if message.is_measured {
            self.tally.note_served(&message, now);
            self.note_ended(message.latency(now).as_ps() > self.late_ps);
        }
    }
}
