//! The payloads of the RPCs in the server: the receive region, and the data with a payload.
//!
//! An RPC's slots belong to the engine, by the back end's table alone, until the RPC is given to a
//! core. A lease gives them to another thread that serves it, until they come back.

use crate::rpc::answer::Answer;
use crate::rpc::job::Held;
use nebula_nic::{Arrival, Run, Slot, SlotRange, Timestamp};
use nebula_sys::mem::{MemError, Pages};
use nebula_sys::region::{RecvRegion, SLOT_BYTES, SlotLease};
use nebula_sys::sync::AtomicU64;

#[derive(Debug)]
pub(crate) struct Payloads {
    region: RecvRegion,
    /// The index of its first slot in the whole server.
    first_slot: u32,
    spans: Box<[u16]>,
    /// The room for its answer, unless that goes into a ring.
    answers: Box<[Option<Box<Answer>>]>,
    /// RPCs of other groups that wait here, by their slot in the server; empty for one group.
    foreign: Box<[Option<Held>]>,
}

impl Payloads {
    /// For `slots` slots from `first_slot` on, of `all_slots` if there are several groups.
    pub(crate) fn new(slots: u32, first_slot: u32, all_slots: Option<u32>) -> Result<Self, MemError> {
        Ok(Self {
            region: RecvRegion::new(slots, Pages::Huge2M)?,
            first_slot,
            spans: vec![0; slots as usize].into(),
            answers: (0..slots).map(|_| None).collect(),
            foreign: (0..all_slots.unwrap_or(0)).map(|_| None).collect(),
        })
    }

    #[inline(always)]
    fn own(&self, slots: SlotRange) -> u32 {
        slots.start.0.wrapping_sub(self.first_slot)
    }

    /// Writes `bytes` bytes of a packet that its sender may be changing.
    #[inline(always)]
    pub(crate) fn write(&mut self, slots: SlotRange, offset: u32, packet: &[AtomicU64], bytes: u32) {
        if bytes > 0 {
            self.region.write(self.own(slots), offset as usize, packet, bytes as usize);
        }
    }

    #[inline(always)]
    pub(crate) fn write_bytes(&mut self, slots: SlotRange, offset: u32, packet: &[u8]) {
        self.region.write_bytes(self.own(slots), offset as usize, packet);
    }

    #[inline(always)]
    pub(crate) fn set_span(&mut self, slots: SlotRange, span: u16) {
        let own = self.own(slots);
        self.spans[own as usize] = span;
    }

    #[inline(always)]
    pub(crate) fn set_answer(&mut self, slots: SlotRange, answer: Box<Answer>) {
        let own = self.own(slots);
        self.answers[own as usize] = Some(answer);
    }

    /// The room for the answer of the waiting RPC at this slot. An own RPC that came back from
    /// another group is in `foreign`.
    #[inline(always)]
    pub(crate) fn answer(&mut self, start: u32) -> Option<&mut Answer> {
        match self.answers.get_mut(start.wrapping_sub(self.first_slot) as usize)?.as_deref_mut() {
            None => self.foreign.get_mut(start as usize)?.as_mut()?.answer.as_deref_mut(),
            waits => waits,
        }
    }

    #[inline(always)]
    pub(crate) fn payload(&self, start: u32, bytes: u32) -> &[u8] {
        self.region.payload(start.wrapping_sub(self.first_slot), bytes as usize)
    }

    /// The memory for the consecutive payloads of a burst, each RPC with `span` slots in its
    /// client's ring. `None` while slots are leased.
    #[inline(always)]
    pub(crate) fn burst(&mut self, run: &Run, span: u16) -> Option<&mut [u8]> {
        let first = run.first_slot.0.wrapping_sub(self.first_slot) as usize;
        let slots = (run.rpcs * run.burst.slots_each) as usize;
        let memory = self.region.own()?;
        // Not `fill`, which is a call for what is usually one word.
        for noted in &mut self.spans[first..first + slots] {
            *noted = span;
        }
        Some(&mut memory[first * SLOT_BYTES..][..slots * SLOT_BYTES])
    }

    /// The memory of free slots; `None` while slots are leased.
    #[inline(always)]
    pub(crate) fn unwritten(&mut self, slots: SlotRange) -> Option<&mut [u8]> {
        let first = slots.start.0.wrapping_sub(self.first_slot) as usize;
        Some(&mut self.region.own()?[first * SLOT_BYTES..][..slots.slots as usize * SLOT_BYTES])
    }

    #[inline(always)]
    pub(crate) fn from(&self, first_slot: Slot) -> &[u8] {
        self.region.payload_from(first_slot.0.wrapping_sub(self.first_slot))
    }

    #[inline(always)]
    pub(crate) fn span(&self, slots: SlotRange) -> u32 {
        self.spans[self.own(slots) as usize].into()
    }

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

    /// Keeps an RPC of another group, or an own one that came back, until it is dispatched.
    pub(crate) fn keep(&mut self, arrival: &Arrival, held: Held) {
        self.foreign[arrival.slots.start.0 as usize] = Some(held);
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, lease: SlotLease) {
        self.region.release(lease);
    }

    /// Forgets an RPC that never became complete; returns the room for its answer.
    pub(crate) fn abandon(&mut self, slots: SlotRange) -> Option<Box<Answer>> {
        let own = self.own(slots);
        self.answers[own as usize].take()
    }
}
