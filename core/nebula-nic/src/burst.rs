//! Several RPCs decided about at once: consecutive RPCs of one sender, each of one packet.
//!
//! Their common properties are decided once: one comparison with the queue bound, one mask of
//! slots, one entry of the queue with a count. A packet that is a whole RPC is a burst of one. A
//! burst decides exactly as its RPCs one after the other would, and a decision log has a line for
//! each.
//!
//! ```text
//!   burst_places ─▶ handle_burst ─▶ bound, slots, one entry ─▶ poll_run ─▶ the core serves ─▶ handle_run_freed
//!        n RPCs of a sender                                     a run of them, on one credit
//!   burst_places ─▶ plan_run ─▶ the core serves ─▶ handle_run_served
//!        where nothing waits and the core is idle: the same decisions, made after the replies
//! ```

use crate::id::{RpcKey, Slot, SlotRange, TransferId};
use crate::time::Timestamp;
use crate::verdict::Arrival;

/// The most RPCs of a burst, and of a run.
pub const BURST_MAX: u32 = 64;

/// The common properties of a burst's RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The first of them.
    pub first: RpcKey,
    /// The difference between consecutive RPCs' numbers.
    pub step: u32,
    /// Slots of the receive buffer that each takes.
    pub slots_each: u32,
}

/// One RPC's payload bytes (low half) and hash of the key (high half), in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstRpc(pub u64);

impl BurstRpc {
    /// An RPC of `bytes` payload bytes about the key with the hash `key_hash`.
    #[must_use]
    #[inline(always)]
    pub const fn new(bytes: u32, key_hash: u32) -> Self {
        Self(bytes as u64 | (key_hash as u64) << 32)
    }

    /// Its payload in bytes.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    pub const fn bytes(self) -> u32 {
        self.0 as u32
    }

    /// Consecutive RPCs of a burst in consecutive slots, taken in together or served on one credit.
    #[must_use]
    #[inline(always)]
    pub const fn key_hash(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Consecutive RPCs of one burst, in consecutive slots: those that were taken in, or those that a
/// core serves one after the other on one credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their common properties; `first` is the first of the run.
    pub burst: Burst,
    /// How many there are.
    pub rpcs: u32,
    /// The first slot of the first one.
    pub first_slot: Slot,
    /// When their last packets arrived.
    pub arrived: Timestamp,
    /// Where their words lie in the queue.
    pub(crate) at: u32,
}

impl Run {
    /// The first `rpcs` of them, if the others were not served after all.
    #[must_use]
    #[inline]
    pub fn first(self, rpcs: u32) -> Self {
        Self { rpcs: rpcs.min(self.rpcs), ..self }
    }

    /// The number of the RPC after `index` others.
    #[must_use]
    #[inline(always)]
    pub const fn tid(&self, index: u32) -> TransferId {
        TransferId(self.burst.first.tid.0.wrapping_add(index.wrapping_mul(self.burst.step)))
    }

    /// Its slots.
    #[must_use]
    #[inline(always)]
    pub const fn slots(&self, index: u32) -> SlotRange {
        SlotRange::new(self.first_slot.0 + index * self.burst.slots_each, self.burst.slots_each)
    }

    /// The arrival of the RPC after `index` others, whose word is `rpc`.
    #[must_use]
    #[inline(always)]
    pub const fn arrival(&self, index: u32, rpc: BurstRpc) -> Arrival {
        Arrival {
            rpc: RpcKey { snid: self.burst.first.snid, tid: self.tid(index) },
            slots: self.slots(index),
            bytes: rpc.bytes(),
            key_hash: rpc.key_hash(),
            arrived: self.arrived,
        }
    }
}
