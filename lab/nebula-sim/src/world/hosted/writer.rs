//! A core that works on RPCs one after the other and writes a line for the NIC after each; the NIC
//! is told of several at once.

use crate::system::host::Host;
use nebula_nic::{Span, Timestamp};

/// One core, and the lines that it has written and not told the NIC of.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    /// When the core is free again. All its work up to then is known: it is taken in order, and
    /// nothing preempts it.
    free: Timestamp,
    batch: Vec<u32>,
    /// When the NIC is told of the batch at the latest, if it is not empty.
    due: Timestamp,
    /// Batches told so far, so that the end of an earlier batch's wait is known as such.
    told: u64,
}

/// What became of an RPC at a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// When the core began it.
    pub(super) begun: Timestamp,
    /// When its line was written.
    pub(super) ended: Timestamp,
    /// Whether it is the first of its batch, whose wait begins.
    pub(super) is_first: bool,
    /// Whether the batch is full.
    pub(super) is_full: bool,
}

impl Writer {
    /// The core spends `work` on RPC `place`, as soon as it is free, and writes its line.
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

    /// Whether the batch has waited long enough by the time at which the core can begin further
    /// work. The core tells the NIC between two RPCs only.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        !self.batch.is_empty() && self.free.max(now) >= self.due
    }

    /// The core tells the NIC of its batch, at `at` or as soon as it is free: when it did. The
    /// lines have left then, and the core goes on `store` later.
    pub(super) fn tell(&mut self, at: Timestamp, host: &Host, lines: &mut Vec<u32>) -> Timestamp {
        let left = self.free.max(at);
        self.free = left + host.store;
        self.told += 1;
        lines.clear();
        lines.append(&mut self.batch);
        left
    }

    /// When the wait of the batch ends, and which batch it is.
    pub(super) const fn wait(&self) -> (Timestamp, u64) {
        (self.due, self.told)
    }

    /// Whether batch `told` has not been told yet.
    pub(super) fn still_waits(&self, told: u64) -> bool {
        self.told == told && !self.batch.is_empty()
    }
}
