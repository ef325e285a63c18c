//! Space of items that have expired: found by a caller that asks for one, and by a walk where a
//! store is full.

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
    /// Nothing has to call this: a cache finds them when it evicts, and a [`Mode::Store`] that has
    /// no room walks by itself, at most once a second. A caller with time to spare makes room
    /// before that.
    ///
    /// # Cost
    ///
    /// Reads all buckets and each item with metadata: about a second for some millions.
    pub fn reclaim_expired(&self, now: u32) -> u64 {
        self.note_time(now);
        self.index.homes().iter().map(|home| self.reclaim_of(home, now)).sum()
    }

    /// Where a store is full: walks, unless it did in this second. Call with no bucket held. True
    /// if it made room.
    #[cold]
    pub(super) fn make_room(&self, now: u32) -> bool {
        let is_first = || self.reclaimed_at.fetch_max(now, Ordering::Relaxed) < now;
        self.mode == Mode::Store && is_first() && self.reclaim_expired(now) > 0
    }

    fn reclaim_of(&self, home: &Bucket, now: u32) -> u64 {
        let mut held = bucket::hold(home);
        let mut reclaimed = 0;
        for bucket in self.index.chain(home) {
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

    /// Whether the item of an entry of a held bucket has expired at `now`, or was flushed.
    fn is_dead(&self, entry: Entry, now: u32) -> bool {
        let pinned = self.log.pin(entry.position());
        let stamped = pinned.and_then(|pinned| item::stamped(pinned.words));
        stamped.is_some_and(|stamped| !self.is_live(&stamped, now))
    }
}
