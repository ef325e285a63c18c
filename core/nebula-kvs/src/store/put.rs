//! Stores with metadata: under a condition, with flags, expiry and a CAS number.

use super::Store;
use super::locate::Located;
use super::set::{SetError, SetOutcome};
use crate::bucket::Held;
use crate::hash::KeyHash;
use crate::item;
use crate::meta::{META_WORDS, Meta, Stamped};
use crate::probe::Probe;
use crate::shape::Shape;
use crate::stripe::Event;

/// When a [`put`](Store::put) stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    #[default]
    Always,
    /// If the key has no item: `add`.
    Absent,
    /// If the key has an item: `replace`.
    Present,
    /// If the key's item has this CAS number.
    Cas(u64),
    /// Like [`Cas`](Self::Cas); if the item's number is later, the value is stored as stale.
    CasOrStale(u64),
}

/// How a [`put`](Store::put) stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// The condition for storing.
    pub condition: Condition,
    /// The client's flags.
    pub flags: u32,
    /// When the item expires, in seconds of the caller's clock; 0: never.
    pub expires: u32,
    /// The caller's time in seconds.
    pub now: u32,
    /// The item's CAS number; `None`: one that no item has had.
    pub cas: Option<u64>,
    /// Whether a client has been asked to fetch the value again, for an item without a value yet.
    pub is_won: bool,
}

/// The outcome of a [`put`](Store::put) or of an addition to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// Stored, under this CAS number.
    Stored {
        /// The item's CAS number.
        cas: u64,
    },
    /// Not stored: the key had an item and should have none, or the reverse.
    NotStored,
    /// Not stored: the key's item has another CAS number.
    Exists,
    /// Not stored: the key has no item, and a CAS number was named.
    NotFound,
}

impl<P: Probe> Store<P> {
    /// Stores `value` under `key` with metadata, if the condition of `put` holds.
    ///
    /// An item that has expired at `put.now` counts as absent. Checking the condition and storing
    /// are one step: of two threads with the same CAS number, one stores. Cost: that of
    /// [`set`](Self::set), three words more, and an atomic addition to the store's CAS number.
    ///
    /// # Errors
    ///
    /// [`SetError`]; the store is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Condition, Put, PutOutcome, Store, StoreConfig};
    /// let store = Store::try_new(StoreConfig::for_items(100, 16, 8))?;
    /// let hash = Store::hash(b"key");
    /// let PutOutcome::Stored { cas } = store.put(hash, b"key", b"one", Put { flags: 7, ..Put::default() })? else { unreachable!() };
    /// let only_if = |cas| Put { condition: Condition::Cas(cas), ..Put::default() };
    /// assert!(matches!(store.put(hash, b"key", b"two", only_if(cas))?, PutOutcome::Stored { .. }));
    /// assert_eq!(store.put(hash, b"key", b"three", only_if(cas))?, PutOutcome::Exists);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&self, hash: KeyHash, key: &[u8], value: &[u8], put: Put) -> Result<PutOutcome, SetError> {
        let granules = self.check_extended(key, value)?;
        self.note_time(put.now);
        match self.put_checked(hash, key, value, &put, granules) {
            Err(SetError::Full) if self.make_room(put.now) => self.put_checked(hash, key, value, &put, granules),
            outcome => outcome,
        }
    }

    fn put_checked(
        &self,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
        put: &Put,
        granules: u64,
    ) -> Result<PutOutcome, SetError> {
        let mut held = self.hold(hash);
        let located = self.locate(&held, hash, key);
        let live = located.as_ref().map(|located| located.stamped).filter(|stamped| self.is_live(stamped, put.now));
        let is_stale = match refusal(put.condition, live.map(|stamped| stamped.meta.cas)) {
            Ok(is_stale) => is_stale,
            Err(refused) => return Ok(refused),
        };
        let mut stamped = self.stamp(put);
        stamped.meta.is_stale = is_stale;
        let outcome = self.store_extended(&mut held, located, hash, key, value, &stamped)?;
        drop(held);
        self.carry_after(outcome, granules);
        Ok(PutOutcome::Stored { cas: stamped.meta.cas })
    }

    pub(super) fn stamp(&self, put: &Put) -> Stamped {
        let &Put { flags, expires, now, cas, is_won, .. } = put;
        let cas = cas.unwrap_or_else(|| self.state.next_cas());
        let meta = Meta { flags, expires, cas, last_access: now, is_won, ..Meta::default() };
        Stamped { meta, generation: self.state.generation() }
    }

    /// The granules of an item with metadata, if the store accepts it.
    pub(super) fn check_extended(&self, key: &[u8], value: &[u8]) -> Result<u64, SetError> {
        let shape = self.check(key, value)?;
        let (got, max) = ((shape.words() + META_WORDS) * 8, self.log.item_bytes_max());
        if got > max { Err(SetError::ItemBytes { got, max }) } else { Ok(shape.granules_extended(self.mode)) }
    }

    /// Stores `value` with metadata in place of `located`, or as the key's first item.
    pub(super) fn store_extended<'a>(
        &'a self,
        held: &mut Held<'a>,
        located: Option<Located<'a>>,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
        stamped: &Stamped,
    ) -> Result<SetOutcome, SetError> {
        let Some(located) = located else {
            return self.insert(held, hash, key, value, Some(stamped));
        };
        let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
        if located.header.has_room_for_extended(shape) {
            held.will_change();
            item::overwrite_extended(located.item.words, located.header, value, &stamped.words());
            if !located.entry.is_read_often() {
                held.set(located.entry_word, located.entry.read());
            }
            self.counters.count(Event::UpdatedInPlace);
            return Ok(SetOutcome::UpdatedInPlace);
        }
        let (entry_word, old) = (located.entry_word, located.entry);
        // Drops its pin: reserving space may wait until there is none.
        drop(located);
        let entry = self.append(hash, key, value, Some(stamped))?;
        held.set(entry_word, entry);
        self.free(old);
        self.counters.count(Event::Appended);
        self.counters.count_after(Event::Extended);
        Ok(SetOutcome::Appended)
    }
}

/// Whether the stored item is stale, or why none is stored, if the key's item has CAS number `cas`.
fn refusal(condition: Condition, cas: Option<u64>) -> Result<bool, PutOutcome> {
    match (condition, cas) {
        (Condition::Always, _) | (Condition::Absent, None) | (Condition::Present, Some(_)) => Ok(false),
        (Condition::Absent, Some(_)) | (Condition::Present, None) => Err(PutOutcome::NotStored),
        (Condition::Cas(_) | Condition::CasOrStale(_), None) => Err(PutOutcome::NotFound),
        (Condition::Cas(wanted) | Condition::CasOrStale(wanted), Some(cas)) if wanted == cas && cas > 0 => Ok(false),
        (Condition::CasOrStale(wanted), Some(cas)) if wanted < cas => Ok(true),
        (Condition::Cas(_) | Condition::CasOrStale(_), Some(_)) => Err(PutOutcome::Exists),
    }
}
