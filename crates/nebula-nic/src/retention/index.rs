//! Finds an entry by its key: buckets twice as many as entries, each a list through the entries themselves.

use super::entry::{Entry, EntryId, RetentionKey};
use crate::hash::mix;
use alloc::boxed::Box;
use alloc::vec;

/// "No entry" in buckets and lists.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// The first entry of each bucket; a power of two.
    buckets: Box<[u32]>,
    seed: u64,
}

impl Index {
    /// An index of no entry, for at most `entries`, a power of two.
    pub(super) fn new(entries: u32, seed: u64) -> Self {
        Self { buckets: vec![NONE; entries as usize * 2].into(), seed }
    }

    #[inline]
    pub(super) fn find(&self, entries: &[Entry], key: RetentionKey) -> Option<EntryId> {
        let mut number = self.buckets[self.bucket(key)];
        while let Some(entry) = entries.get(number as usize) {
            if entry.key == key {
                return Some(EntryId(number));
            }
            number = entry.next;
        }
        None
    }

    #[inline]
    pub(super) fn insert(&mut self, entries: &mut [Entry], id: EntryId) {
        let entry = &mut entries[id.index()];
        let first = &mut self.buckets[self.bucket(entry.key)];
        entry.next = *first;
        *first = id.0;
    }

    /// Takes an entry that is in the index out of it.
    #[inline]
    pub(super) fn remove(&mut self, entries: &mut [Entry], id: EntryId) {
        let Entry { key, next, .. } = entries[id.index()];
        let first = &mut self.buckets[self.bucket(key)];
        if *first == id.0 {
            *first = next;
            return;
        }
        let mut number = *first;
        while let Some(entry) = entries.get_mut(number as usize) {
            if entry.next == id.0 {
                entry.next = next;
                return;
            }
            number = entry.next;
        }
    }

    #[inline]
    fn bucket(&self, key: RetentionKey) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "masked to the number of buckets")]
        let hash = mix(key.rpc.to_bits() ^ self.seed ^ u64::from(key.tag) << 16) as usize;
        hash & (self.buckets.len() - 1)
    }
}
