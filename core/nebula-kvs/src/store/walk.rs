//! Walks over all items: for snapshots, and for lists of keys.

use super::Store;
use crate::bucket::{self, Bucket, Entry};
use crate::item;
use crate::meta::{Meta, Stamped};
use crate::probe::Probe;
use crate::shape::KEY_BYTES_MAX;
use nebula_sys::sync::AtomicU64;

impl<P: Probe> Store<P> {
    /// Passes the keys and metadata of items that exist at `now` to `take`, in no order, until that
    /// returns false. Other threads may use the store meanwhile.
    ///
    /// `take` runs while a bucket is held, so it must be short and not use the store. Cost: reads
    /// the index, and the items.
    pub fn keys(&self, now: u32, mut take: impl FnMut(&[u8], &Meta) -> bool) {
        self.note_time(now);
        let mut goes_on = true;
        let mut homes = self.index.homes().iter();
        while goes_on && let Some(home) = homes.next() {
            self.each_of(home, |words, key| {
                let plain = || self.plain(item::value(words).map_or(0, |(_, bytes)| bytes));
                let stamped = item::stamped(words).unwrap_or_else(plain);
                goes_on = goes_on && (!self.is_live(&stamped, now) || take(key, &stamped.meta));
            });
        }
    }

    /// The metadata of an item without any, which belongs to every generation.
    pub(super) fn plain(&self, value_bytes: usize) -> Stamped {
        let value_bytes = u32::try_from(value_bytes).unwrap_or(u32::MAX);
        Stamped { meta: Meta { value_bytes, ..Meta::default() }, generation: self.state.generation() }
    }

    /// Passes each item of a chain and its key to `take`, while the bucket is held.
    pub(super) fn each_of(&self, home: &Bucket, mut take: impl FnMut(&[AtomicU64], &[u8])) {
        let is_empty = |bucket| bucket::entries(bucket).all(|(_, entry)| entry == Entry::EMPTY);
        if is_empty(home) && bucket::next_extra(home).is_none() {
            return;
        }
        let held = bucket::hold(home);
        for (_, entry) in self.chain(held.home()).flat_map(bucket::entries) {
            if entry == Entry::EMPTY {
                continue;
            }
            let Some(pinned) = self.log.pin(entry.position()) else { continue };
            let mut key = [0; KEY_BYTES_MAX];
            if let Some((_, key)) = item::key_of(pinned.words, &mut key) {
                take(pinned.words, key);
            }
        }
    }
}
