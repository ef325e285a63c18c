//! The space of expired items: reclaimed by a GET of one, and by a walk when a store is full.

use crate::{
    KeyHash, Probe, Store,
    bucket::{self, Bucket, Entry},
    item,
    mode::Mode,
    stripe::Event,
};
use nebula_sys::sync::Ordering;

impl<P: Probe> Store<P> {
    /// Removes the item of `key` if it has expired at `now`, or was flushed.
    #[cold]
    pub(super) fn reclaim(&self, hash: KeyHash, key: &[u8], now: u32) {
        let mut held = self.hold(hash);
        let Some(located) = self.locate(&held, hash, key) else { return };
        if !self.is_live(&located.stamped, now) {
            self.remove(&mut held, located.entry_word, located.entry);
            self.counters.count(Event::Expired);
        }
    }

    /// Removes every item that has expired at `now`, or was flushed; returns how many.
    ///
    /// Calling this is optional: a cache finds them when it evicts, and a full [`Mode::Store`]
    /// walks by itself, at most once a second. A caller with time to spare makes room earlier.
    /// Cost: reads all buckets and each item with metadata: about a second for some millions.
    pub fn reclaim_expired(&self, now: u32) -> u64 {
        self.note_time(now);
        self.index.homes().iter().map(|home| self.reclaim_of(home, now)).sum()
    }

    /// Walks a full store, at most once a second, with no bucket held. Returns whether it made
    /// room.
    #[cold]
    pub(super) fn make_room(&self, now: u32) -> bool {
        let is_first = || self.reclaimed_at.fetch_max(now, Ordering::Relaxed) < now;
        self.mode == Mode::Store && is_first() && self.reclaim_expired(now) > 0
    }

    fn reclaim_of(&self, home: &Bucket, now: u32) -> u64 {
        let mut held = bucket::hold(home);
        let mut reclaimed = 0;
        for bucket in self.chain(home) {
            for (slot, entry) in bucket::entries(bucket) {
                if entry != Entry::EMPTY && self.is_dead(entry, now) {
                    self.remove(&mut held, &bucket[slot], entry);
                    self.counters.count(Event::Expired);
                    reclaimed += 1;
                }
            }
        }
        reclaimed
    }

    fn is_dead(&self, entry: Entry, now: u32) -> bool {
        let pinned = self.log.pin(entry.position());
        let stamped = pinned.and_then(|pinned| item::stamped(pinned.words));
        stamped.is_some_and(|stamped| !self.is_live(&stamped, now))
    }
}
