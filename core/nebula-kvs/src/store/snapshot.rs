//! Snapshots: a store's items written to a file, and read into another store.

use super::Store;
use super::set::SetError;
use crate::bucket::Bucket;
use crate::hash::KeyHash;
use crate::item;
use crate::meta::Stamped;
use crate::probe::Probe;
use crate::snapshot::{self, Kept, Snapshot, SnapshotError, Writer};
use nebula_sys::copy;
use std::io::{Read, Write};

impl<P: Probe> Store<P> {
    /// Writes all items that have not expired by the latest time of any operation.
    ///
    /// Other threads may use the store meanwhile. Each item is written as it is at some moment of
    /// the call; one that is stored or deleted during it may be there or not. Cost: reads the whole
    /// store, and holds each bucket while its items are copied.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Io`]; the bytes written are no snapshot then.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Store, StoreConfig};
    /// let store = Store::try_new(StoreConfig::for_items(100, 16, 8))?;
    /// store.set(Store::hash(b"key"), b"key", b"value")?;
    /// let mut file = Vec::new();
    /// assert_eq!(store.snapshot(&mut file)?.items, 1);
    /// let other = Store::try_new(StoreConfig::for_items(10, 16, 8))?;
    /// assert_eq!(other.load(&file[..], 0)?.items, 1);
    /// assert!(other.get(Store::hash(b"key"), b"key", &mut Vec::new()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self, to: impl Write) -> Result<Snapshot, SnapshotError> {
        let mut writer = Writer::begin(to)?;
        for home in self.index.homes() {
            self.snapshot_of(home, &mut writer);
            writer.write_if_long()?;
        }
        writer.end()
    }

    fn snapshot_of(&self, home: &Bucket, writer: &mut Writer<impl Write>) {
        self.each_of(home, |words, key| {
            let Some((value, value_bytes)) = item::value(words) else { return };
            let stamped = item::stamped(words);
            if stamped.is_none_or(|stamped| self.is_live(&stamped, self.state.clock())) {
                let words = stamped.map(|stamped| Stamped { generation: 0, ..stamped }.words());
                writer.add(key, words, value_bytes, |room| copy::load_bytes(value, room));
            }
        });
    }

    /// Stores the items of a snapshot, in place of those with the same keys, without those that
    /// have expired at `now`.
    ///
    /// Each chunk is checked before any of its items is stored. For all or nothing, read the file
    /// with [`check_snapshot`] first.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`], which says how far it came; the items before are stored then.
    ///
    /// # Cost
    ///
    /// That of a [`put`](Self::put) for each item.
    ///
    /// [`check_snapshot`]: crate::check_snapshot
    pub fn load(&self, from: impl Read, now: u32) -> Result<Snapshot, SnapshotError> {
        self.note_time(now);
        let mut expired = 0;
        let read = snapshot::read(from, |kept| {
            let is_dead = kept.stamped.is_some_and(|stamped| !stamped.is_live(0, now));
            expired += u64::from(is_dead);
            if is_dead { Ok(()) } else { self.load_one(&kept) }
        })?;
        Ok(Snapshot { expired, ..read })
    }

    fn load_one(&self, kept: &Kept<'_>) -> Result<(), SetError> {
        let hash: KeyHash = (self.hash_of)(kept.key);
        let Some(stamped) = kept.stamped else { return self.set(hash, kept.key, kept.value).map(drop) };
        let granules = self.check_extended(kept.key, kept.value)?;
        self.state.note_cas(stamped.meta.cas);
        let mut held = self.hold(hash);
        let located = self.locate(&held, hash, kept.key);
        let stamped = Stamped { generation: self.state.generation(), ..stamped };
        let outcome = self.store_extended(&mut held, located, hash, kept.key, kept.value, &stamped)?;
        drop(held);
        self.carry_after(outcome, granules);
        Ok(())
    }
}

/// Reads a whole snapshot without storing anything: checks it and counts its items.
pub fn check_snapshot(from: impl Read) -> Result<Snapshot, SnapshotError> {
    snapshot::read(from, |_| Ok(()))
}
