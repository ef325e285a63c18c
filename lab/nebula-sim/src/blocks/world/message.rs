//! RPCs in flight, in a slab.

use super::super::map::{Part, Region};
use super::super::tally::Stages;
use nebula_memsys::Block;
use nebula_nic::{Arrival, CoreId, Span, Timestamp};

/// One RPC, from its first packet until its buffer is freed.
#[derive(Clone, Copy, Debug)]
pub(in crate::blocks) struct Message {
    pub(in crate::blocks) type_index: u16,
    pub(in crate::blocks) is_measured: bool,
    /// Whether its core was serving another RPC when this one was dispatched.
    pub(in crate::blocks) was_queued_at_core: bool,
    pub(in crate::blocks) core: CoreId,
    /// The sender's number of the RPC: with its place in the slab, the back end's key.
    pub(in crate::blocks) snid: u32,
    /// The back end's handle, from its dispatch on.
    pub(in crate::blocks) arrival: Arrival,
    pub(in crate::blocks) payload: Block,
    pub(in crate::blocks) reply: Block,
    pub(in crate::blocks) index: Block,
    pub(in crate::blocks) item: Block,
    /// The first block of state; the others are scattered over the region.
    pub(in crate::blocks) state: u32,
    pub(in crate::blocks) state_region: Region,
    /// How long it waited for the link.
    pub(in crate::blocks) waited: Span,
    /// When its first packet was received.
    pub(in crate::blocks) first: Timestamp,
    /// When its last block was written.
    pub(in crate::blocks) written: Timestamp,
    /// The next step of a one-sided operation, and its client's time between steps so far.
    pub(in crate::blocks) step: u8,
    pub(in crate::blocks) away: Span,
    /// When a core began, and how long the core was busy with it.
    pub(in crate::blocks) begun: Timestamp,
    pub(in crate::blocks) busy: Span,
    /// When the prefetched blocks are in the core's L1.
    pub(in crate::blocks) fetched: Timestamp,
    pub(in crate::blocks) stages: Stages,
}

impl Message {
    pub(super) fn new(type_index: u16, is_measured: bool, first: Timestamp, waited: Span) -> Self {
        let none = Block(0);
        Self {
            type_index,
            is_measured,
            was_queued_at_core: false,
            core: CoreId(0),
            snid: 0,
            arrival: Arrival::default(),
            payload: none,
            reply: none,
            index: none,
            item: none,
            state: 0,
            state_region: Region::default(),
            waited,
            first,
            written: first,
            step: 0,
            away: Span::ZERO,
            begun: first,
            busy: Span::ZERO,
            fetched: first,
            stages: Stages::default(),
        }
    }

    /// Latency if its buffer is freed at `now`: with the wait for the link, without round trips.
    #[inline]
    pub(in crate::blocks) fn latency(&self, now: Timestamp) -> Span {
        now - self.first + self.waited - self.away
    }

    #[inline]
    pub(super) const fn block(&self, part: Part, block: u32) -> Block {
        match part {
            Part::Payload => Block(self.payload.0 + block),
            Part::Reply | Part::Slots | Part::Hog => Block(self.reply.0 + block),
            Part::Index => Block(self.index.0 + block),
            Part::Log => Block(self.item.0 + block),
            Part::State => {
                let scattered = self.state.wrapping_add(block.wrapping_mul(0x9e37_79b1));
                self.state_region.at(scattered % self.state_region.blocks)
            }
        }
    }
}
