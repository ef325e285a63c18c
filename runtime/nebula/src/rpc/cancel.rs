//! Whether the client has cancelled an RPC, for the handler that runs it.
//!
//! Over a network the engine writes it, and the worker reads it now and then. Each RPC that the
//! transport remembers has a flag, so an RPC allocates and counts nothing. Over shared memory the
//! client writes it, into the slot of its request.

use super::slot::{Asked, Slots};
use nebula_nic::EntryId;
use nebula_sys::sync::{Arc, AtomicBool, Ordering};
use std::fmt::Debug;

pub(crate) trait Ring: Debug + Send + Sync {
    fn slots(&self) -> Slots<'_>;
}

pub(crate) trait ShareRing: Debug {
    fn share(&self) -> std::sync::Arc<dyn Ring>;
}

#[derive(Clone, Debug)]
pub(crate) struct Cancels(Arc<[AtomicBool]>);

impl Cancels {
    pub(crate) fn new(entries: usize) -> Self {
        Self((0..entries).map(|_| AtomicBool::new(false)).collect())
    }

    /// Sets whether the RPC is cancelled; returns the old value. Relaxed: it guards no other data.
    pub(crate) fn set(&self, entry: EntryId, is_cancelled: bool) -> bool {
        self.0[entry.index()].swap(is_cancelled, Ordering::Relaxed)
    }

    /// Puts the flag of one RPC into `into`, and reuses the reference count of another there.
    #[inline]
    pub(crate) fn put(&self, entry: EntryId, into: &mut Option<Cancel>) {
        match into {
            Some(Cancel(Place::Noted { entry: noted, .. })) => *noted = entry,
            none => *none = Some(self.of(entry)),
        }
    }

    pub(crate) fn of(&self, entry: EntryId) -> Cancel {
        Cancel(Place::Noted { all: self.clone(), entry })
    }
}

/// Whether one RPC has been cancelled, to be read while it is served.
#[derive(Clone, Debug)]
pub struct Cancel(Place);

#[derive(Clone, Debug)]
enum Place {
    /// In a flag that the engine writes.
    Noted { all: Cancels, entry: EntryId },
    /// In the slot at `position`, which the client writes.
    InRing { ring: std::sync::Arc<dyn Ring>, position: u32 },
}

impl Cancel {
    /// Of the RPC whose reply goes to the slot at `position` of a client's ring.
    pub(crate) fn in_ring(ring: std::sync::Arc<dyn Ring>, position: u32) -> Self {
        Self(Place::InRing { ring, position })
    }

    /// Whether the client has cancelled the RPC.
    #[must_use]
    #[inline]
    pub fn is_set(&self) -> bool {
        match &self.0 {
            Place::Noted { all, entry } => all.0[entry.index()].load(Ordering::Relaxed),
            Place::InRing { ring, position } => Asked::new(ring.slots().line(*position), *position).is_cancelled(),
        }
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
