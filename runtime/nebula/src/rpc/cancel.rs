//! What a handler that runs is told of its client: that it has taken the RPC back.
//!
//! Over a network the engine writes, and the worker that has the RPC reads now and then. There is a
//! flag for each RPC that the transport remembers, so nothing is made or counted for an RPC. Over
//! shared memory the client writes, into the slot of its request.

use super::slot::{Asked, Slots};
use nebula_nic::EntryId;
use nebula_sys::sync::{Arc, AtomicBool, Ordering};
use std::fmt::Debug;

/// A client's ring, as long as it is held.
pub(crate) trait Ring: Debug + Send + Sync {
    fn slots(&self) -> Slots<'_>;
}

/// Who holds a ring, and may share it.
pub(crate) trait ShareRing: Debug {
    fn share(&self) -> std::sync::Arc<dyn Ring>;
}

/// A flag for each RPC that a transport remembers.
#[derive(Clone, Debug)]
pub(crate) struct Cancels(Arc<[AtomicBool]>);

impl Cancels {
    pub(crate) fn new(entries: usize) -> Self {
        Self((0..entries).map(|_| AtomicBool::new(false)).collect())
    }

    /// Notes whether the RPC has been taken back; returns what was noted before. Relaxed: nothing
    /// else is read by the flag's leave.
    pub(crate) fn set(&self, entry: EntryId, is_cancelled: bool) -> bool {
        self.0[entry.index()].swap(is_cancelled, Ordering::Relaxed)
    }

    /// Puts the flag of one RPC where that of another one may be, whose count of owners it takes
    /// over.
    #[inline]
    pub(crate) fn put(&self, entry: EntryId, into: &mut Option<Cancel>) {
        match into {
            Some(Cancel(Place::Noted { entry: noted, .. })) => *noted = entry,
            none => *none = Some(self.of(entry)),
        }
    }

    /// The flag of one RPC.
    pub(crate) fn of(&self, entry: EntryId) -> Cancel {
        Cancel(Place::Noted { all: self.clone(), entry })
    }
}

/// Whether one RPC has been taken back, to be looked at while it is served.
#[derive(Clone, Debug)]
pub struct Cancel(Place);

/// Where that stands.
#[derive(Clone, Debug)]
enum Place {
    /// In a flag that the engine writes.
    Noted { all: Cancels, entry: EntryId },
    /// In the slot at `position`, which the client writes.
    InRing { ring: std::sync::Arc<dyn Ring>, position: u32 },
}

impl Cancel {
    /// That of the RPC whose reply goes to the slot at `position` of a client's ring.
    pub(crate) fn in_ring(ring: std::sync::Arc<dyn Ring>, position: u32) -> Self {
        Self(Place::InRing { ring, position })
    }

    /// Whether the client has taken the RPC back.
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
