//! One core: the queue that the NIC fills for it, and its batch.

use crate::tally::overheads::Overheads;
use nebula_nic::{Arrival, CoreId, RpcKey, STEALABLE_BOUND, SlotRange, Timestamp};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(super) struct Serving {
    pub(super) rpc: RpcKey,
    pub(super) slots: SlotRange,
    pub(super) home: CoreId,
    pub(super) queued_ps: u64,
    pub(super) overheads: Overheads,
}

pub(super) struct Core {
    pub(super) queue: VecDeque<Arrival>,
    /// The batch in service, in the order of its ends.
    pub(super) batch: VecDeque<Serving>,
    /// When the whole batch has been served.
    pub(super) end: Timestamp,
    pub(super) lock_free: Timestamp,
}

impl Core {
    pub(super) fn new(batch_max: usize) -> Self {
        let queue = VecDeque::with_capacity(STEALABLE_BOUND as usize);
        let batch = VecDeque::with_capacity(batch_max);
        Self { queue, batch, end: Timestamp::ZERO, lock_free: Timestamp::ZERO }
    }

    #[inline]
    pub(super) fn is_serving(&self) -> bool {
        !self.batch.is_empty()
    }

    /// Whether the batch has been served and left the core, though its RPCs have not ended.
    #[inline]
    pub(super) fn is_past(&self, now: Timestamp) -> bool {
        self.end <= now
    }
}
