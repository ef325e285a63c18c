//! Changes of an item's metadata: touch, get-and-touch, and marks of stale items.

use super::Store;
use super::item_get::Ignored;
use crate::hash::KeyHash;
use crate::meta::{Meta, Stamped};
use crate::probe::Probe;
use crate::sink::ValueSink;

/// The changes of a [`change`](Store::change); `None` keeps a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The expiry in seconds of the caller's clock; 0: never.
    pub expires: Option<u32>,
    /// The client's flags.
    pub flags: Option<u32>,
    /// Whether the item is stale.
    pub is_stale: Option<bool>,
    /// Whether a client has been asked to fetch the value again.
    pub is_won: Option<bool>,
    /// A CAS number for the item.
    pub cas: Option<Mark>,
    /// Whether this counts as a read of the item.
    pub is_read: bool,
}

/// The CAS number that a [`change`](Store::change) gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// One that no item has had.
    New,
    /// This one.
    Given(u64),
}

impl<P: Probe> Store<P> {
    /// Passes the value of `key` to `sink` and changes its metadata, in one step; returns the
    /// metadata from before, or nothing if there is no item at `now`.
    ///
    /// `change` gets the metadata and returns the changes; it runs while the bucket is held, so it
    /// must be short and not use the store. An item without metadata stays as it is. Cost: that of
    /// a [`set`](Self::set) in place, and the copy.
    pub fn change(
        &self,
        hash: KeyHash,
        key: &[u8],
        now: u32,
        sink: &mut impl ValueSink,
        change: impl FnOnce(&Meta) -> Change,
    ) -> Option<Meta> {
        self.note_time(now);
        let mut held = self.hold(hash);
        let located = self.locate_live(&held, hash, key, now)?;
        let before = located.stamped.meta;
        let (value, value_bytes) = located.value();
        sink.write(value, value_bytes);
        let change = change(&before);
        if located.header.is_extended() {
            held.will_change();
            let meta = self.changed(before, &change, now);
            located.header.store_meta(located.item.words, &Stamped { meta, ..located.stamped }.words());
        }
        if change.is_read && !located.entry.is_read_often() {
            held.set(located.entry_word, located.entry.read());
        }
        Some(before)
    }

    fn changed(&self, before: Meta, change: &Change, now: u32) -> Meta {
        let cas = match change.cas {
            None => before.cas,
            Some(Mark::New) => self.state.next_cas(),
            Some(Mark::Given(cas)) => cas,
        };
        Meta {
            flags: change.flags.unwrap_or(before.flags),
            expires: change.expires.unwrap_or(before.expires),
            cas,
            last_access: if change.is_read { now } else { before.last_access },
            is_fetched: before.is_fetched || change.is_read,
            is_stale: change.is_stale.unwrap_or(before.is_stale),
            is_won: change.is_won.unwrap_or(before.is_won),
            value_bytes: before.value_bytes,
        }
    }

    /// Sets the expiry of `key`'s item; returns whether there is one at `now`. Costs as much as
    /// [`change`](Self::change).
    pub fn touch(&self, hash: KeyHash, key: &[u8], expires: u32, now: u32) -> bool {
        self.get_and_touch(hash, key, expires, now, &mut Ignored).is_some()
    }

    /// Passes the value of `key` to `sink` and sets its expiry; returns the metadata from before.
    /// Costs as much as [`change`](Self::change).
    pub fn get_and_touch(
        &self,
        hash: KeyHash,
        key: &[u8],
        expires: u32,
        now: u32,
        sink: &mut impl ValueSink,
    ) -> Option<Meta> {
        self.change(hash, key, now, sink, |_| Change { expires: Some(expires), is_read: true, ..Change::default() })
    }
}
