//! A core that writes a line for each RPC, and announces several to the NIC at once.

use crate::system::host::Host;
use nebula_nic::{Span, Timestamp};

#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    /// When the core is free: nothing preempts its work, which is in order.
    free: Timestamp,
    batch: Vec<u32>,
    /// The latest announcement of the batch, if it is not empty.
    due: Timestamp,
    /// Batches announced so far, which tell the end of an earlier batch's wait.
    told: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) begun: Timestamp,
    pub(super) ended: Timestamp,
    /// Whether it is the first of its batch, whose wait then begins.
    pub(super) is_first: bool,
    pub(super) is_full: bool,
}

impl Writer {
    pub(super) fn write(&mut self, now: Timestamp, place: u32, work: Span, host: &Host) -> Written {
        let begun = self.free.max(now);
        let ended = begun + work;
        self.free = ended;
        let is_first = self.batch.is_empty();
        if is_first {
            self.due = ended + host.batch_wait;
        }
        self.batch.push(place);
        Written { begun, ended, is_first, is_full: self.batch.len() >= usize::from(host.batch) }
    }

    /// Whether the batch's wait is over by the core's next work: it announces only between RPCs.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        !self.batch.is_empty() && self.free.max(now) >= self.due
    }

    /// Announces the batch as soon as the core is free; returns when. That takes `store`.
    pub(super) fn tell(&mut self, at: Timestamp, host: &Host, lines: &mut Vec<u32>) -> Timestamp {
        let left = self.free.max(at);
        self.free = left + host.store;
        self.told += 1;
        lines.clear();
        lines.append(&mut self.batch);
        left
    }

    /// When the batch's wait ends, and the batch's number.
    pub(super) const fn wait(&self) -> (Timestamp, u64) {
        (self.due, self.told)
    }

    /// Whether batch `told` has not been announced.
    pub(super) fn still_waits(&self, told: u64) -> bool {
        self.told == told && !self.batch.is_empty()
    }
}
