//! What a handler that runs is told of its client: that it has taken the RPC back.
//!
//! The engine writes, the worker that has the RPC reads now and then. There is a flag for each RPC that the transport remembers, so nothing is
//! made or counted for an RPC.

use nebula_nic::EntryId;
use nebula_sys::sync::{Arc, AtomicBool, Ordering};

/// A flag for each RPC that a transport remembers.
#[derive(Clone, Debug)]
pub(crate) struct Cancels(Arc<[AtomicBool]>);

impl Cancels {
    pub(crate) fn new(entries: usize) -> Self {
        Self((0..entries).map(|_| AtomicBool::new(false)).collect())
    }

    /// Notes whether the RPC has been taken back; returns what was noted before. Relaxed: nothing else is read by the flag's leave.
    pub(crate) fn set(&self, entry: EntryId, is_cancelled: bool) -> bool {
        self.0[entry.index()].swap(is_cancelled, Ordering::Relaxed)
    }

    /// The flag of one RPC.
    pub(crate) fn of(&self, entry: EntryId) -> Cancel {
        Cancel { all: self.clone(), entry }
    }
}

/// The flag of one RPC.
#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    all: Cancels,
    pub(crate) entry: EntryId,
}

impl Cancel {
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.all.0[self.entry.index()].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rpc_has_a_flag_that_can_be_taken_down() {
        let cancels = Cancels::new(2);
        let flags = [EntryId(0), EntryId(1)].map(|entry| cancels.of(entry));
        assert!(!cancels.set(EntryId(1), true));
        assert_eq!(flags.each_ref().map(Cancel::is_set), [false, true]);
        assert!(cancels.set(EntryId(1), false), "it was set");
        assert_eq!(flags.map(|flag| flag.is_set()), [false, false]);
    }
}
