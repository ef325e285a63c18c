//! DELETE.

use super::Store;
use crate::hash::KeyHash;
use crate::probe::Probe;
use crate::stripe::Event;

/// The outcome of a [`delete_item`](Store::delete_item).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Removed.
    Deleted,
    /// There was none.
    NotFound,
    /// Kept: its CAS number is another one.
    Exists,
}

impl<P: Probe> Store<P> {
    /// Removes `key` and returns whether it was there, expired or not. Cost: one line of index and
    /// the lines of the item's key. In [`Mode::Store`](crate::Mode::Store) the item's space goes
    /// into a list that threads lock.
    pub fn delete(&self, hash: KeyHash, key: &[u8]) -> bool {
        let mut held = self.hold(hash);
        let Some(found) = self.find(&held, hash, key) else { return false };
        self.remove(&mut held, found.entry_word, found.entry);
        self.count(Event::Deleted);
        true
    }

    /// Removes `key`'s item if it exists at `now` and, with `cas`, has that CAS number. Costs as
    /// much as [`delete`](Self::delete), and the item's metadata.
    pub fn delete_item(&self, hash: KeyHash, key: &[u8], cas: Option<u64>, now: u32) -> DeleteOutcome {
        self.note_time(now);
        let mut held = self.hold(hash);
        let Some(located) = self.locate_live(&held, hash, key, now) else { return DeleteOutcome::NotFound };
        if cas.is_some_and(|cas| cas != located.stamped.meta.cas) {
            return DeleteOutcome::Exists;
        }
        self.remove(&mut held, located.entry_word, located.entry);
        self.count(Event::Deleted);
        DeleteOutcome::Deleted
    }
}
