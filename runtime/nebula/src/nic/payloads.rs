//! The payloads of the RPCs in the server: the receive region, and what goes with a payload to the
//! worker that serves it.
//!
//! Until an RPC is given to a core, its slots are the engine's, as the back end has decided: there
//! is no second ledger. Only where another thread gets it, the slots are leased to that thread,
//! until they come back.

use crate::rpc::answer::Answer;
use crate::rpc::job::Held;
use nebula_nic::{Arrival, Run, Slot, SlotRange, Timestamp};
use nebula_sys::mem::{MemError, Pages};
use nebula_sys::region::{RecvRegion, SLOT_BYTES, SlotLease};
use nebula_sys::sync::AtomicU64;

/// The receive region of one engine, and by first slot what belongs to the payload there.
#[derive(Debug)]
pub(crate) struct Payloads {
    region: RecvRegion,
    /// The number of its first slot among those of the whole server.
    first_slot: u32,
    /// Slots of the client's ring that the RPC spans.
    spans: Box<[u16]>,
    /// The room for its answer, where that goes into no ring.
    answers: Box<[Option<Box<Answer>>]>,
    /// RPCs of other groups that wait here, by their slot among those of the whole server; empty
    /// where there is one group.
    foreign: Box<[Option<Held>]>,
}

impl Payloads {
    /// For `slots` slots from `first_slot` on, of `all_slots` in all groups where there are
    /// several.
    pub(crate) fn new(slots: u32, first_slot: u32, all_slots: Option<u32>) -> Result<Self, MemError> {
        Ok(Self {
            region: RecvRegion::new(slots, Pages::Huge2M)?,
            first_slot,
            spans: vec![0; slots as usize].into(),
            answers: (0..slots).map(|_| None).collect(),
            foreign: (0..all_slots.unwrap_or(0)).map(|_| None).collect(),
        })
    }

    /// A slot as it is counted in here.
    #[inline(always)]
    fn own(&self, slots: SlotRange) -> u32 {
        slots.start.0.wrapping_sub(self.first_slot)
    }

    /// Writes `bytes` bytes of a packet that a peer may be changing.
    #[inline(always)]
    pub(crate) fn write(&mut self, slots: SlotRange, offset: u32, packet: &[AtomicU64], bytes: u32) {
        self.region.write(self.own(slots), offset as usize, packet, bytes as usize);
    }

    /// Writes a packet.
    #[inline(always)]
    pub(crate) fn write_bytes(&mut self, slots: SlotRange, offset: u32, packet: &[u8]) {
        self.region.write_bytes(self.own(slots), offset as usize, packet);
    }

    /// Notes the span of an RPC in its client's ring.
    #[inline(always)]
    pub(crate) fn set_span(&mut self, slots: SlotRange, span: u16) {
        let own = self.own(slots);
        self.spans[own as usize] = span;
    }

    /// Notes the room for an RPC's answer.
    #[inline(always)]
    pub(crate) fn set_answer(&mut self, slots: SlotRange, answer: Box<Answer>) {
        let own = self.own(slots);
        self.answers[own as usize] = Some(answer);
    }

    /// The room for the answer of an own RPC that waits here, by its first slot: one that came back
    /// from another group is kept apart.
    #[inline(always)]
    pub(crate) fn answer(&mut self, start: u32) -> Option<&mut Answer> {
        match self.answers.get_mut(start.wrapping_sub(self.first_slot) as usize)?.as_deref_mut() {
            None => self.foreign.get_mut(start as usize)?.as_mut()?.answer.as_deref_mut(),
            waits => waits,
        }
    }

    /// The payload of an RPC that waits here.
    #[inline(always)]
    pub(crate) fn payload(&self, start: u32, bytes: u32) -> &[u8] {
        self.region.payload(start.wrapping_sub(self.first_slot), bytes as usize)
    }

    /// Where the payloads of a burst go, one behind the other; each RPC spans `span` slots of its
    /// client's ring. `None` while anything is leased.
    #[inline(always)]
    pub(crate) fn burst(&mut self, run: &Run, span: u16) -> Option<&mut [u8]> {
        let first = run.first_slot.0.wrapping_sub(self.first_slot) as usize;
        let slots = (run.rpcs * run.burst.slots_each) as usize;
        let memory = self.region.own()?;
        // Not `fill`, a call for what is one word as a rule.
        for noted in &mut self.spans[first..first + slots] {
            *noted = span;
        }
        Some(&mut memory[first * SLOT_BYTES..][..slots * SLOT_BYTES])
    }

    /// The memory from `first_slot` on.
    #[inline(always)]
    pub(crate) fn from(&self, first_slot: Slot) -> &[u8] {
        self.region.payload_from(first_slot.0.wrapping_sub(self.first_slot))
    }

    /// Slots of the client's ring that the RPC in `slots` spans.
    #[inline(always)]
    pub(crate) fn span(&self, slots: SlotRange) -> u32 {
        self.spans[self.own(slots) as usize].into()
    }

    /// Leases the payload of an RPC to the worker that serves it.
    #[inline(always)]
    pub(crate) fn take(&mut self, arrival: &Arrival) -> Held {
        if !self.foreign.is_empty()
            && let Some(held) = self.foreign[arrival.slots.start.0 as usize].take()
        {
            return held;
        }
        let own = self.own(arrival.slots);
        let lease = self.region.lease(own, arrival.slots.slots);
        Held {
            lease: lease.expect("the back end dispatches an RPC once"),
            span: self.spans[own as usize].into(),
            answer: self.answers[own as usize].take(),
            is_steered: false,
            is_taken_back: false,
            given: Timestamp::ZERO,
        }
    }

    /// Keeps the payload of another group's RPC, or of an own one that came back, until it is
    /// dispatched.
    pub(crate) fn keep(&mut self, arrival: &Arrival, held: Held) {
        self.foreign[arrival.slots.start.0 as usize] = Some(held);
    }

    /// The slots of a lease are the engine's again.
    #[inline(always)]
    pub(crate) fn release(&mut self, lease: SlotLease) {
        self.region.release(lease);
    }

    /// Forgets an RPC that never became whole; the room for its answer.
    pub(crate) fn abandon(&mut self, slots: SlotRange) -> Option<Box<Answer>> {
        let own = self.own(slots);
        self.answers[own as usize].take()
    }
}
