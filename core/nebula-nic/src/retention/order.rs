//! Entries that may be reused, in the order in which their RPCs ended.

use super::entry::EntryId;
use alloc::boxed::Box;

/// A queue with a place for every entry: a push never fails.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// A power of two.
    places: Box<[EntryId]>,
    /// Entries popped and pushed so far; both wrap.
    popped: u32,
    pushed: u32,
}

impl Order {
    pub(super) fn all(entries: u32) -> Self {
        Self { places: (0..entries).map(EntryId).collect(), popped: 0, pushed: entries }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.popped == self.pushed
    }

    #[inline]
    pub(super) const fn len(&self) -> u32 {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Entries that are not in the queue.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there were u32 entries at construction")]
    pub(super) const fn free(&self) -> u32 {
        self.places.len() as u32 - self.len()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<EntryId> {
        if self.is_empty() {
            return None;
        }
        let id = self.places[self.place(self.popped)];
        self.popped = self.popped.wrapping_add(1);
        Some(id)
    }

    #[inline]
    pub(super) fn push(&mut self, id: EntryId) {
        let place = self.place(self.pushed);
        self.places[place] = id;
        self.pushed = self.pushed.wrapping_add(1);
    }

    #[inline]
    const fn place(&self, number: u32) -> usize {
        number as usize & (self.places.len() - 1)
    }
}
