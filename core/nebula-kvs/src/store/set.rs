//! SET: one writer per bucket at a time.

use super::Store;
use super::put::Put;
use crate::bucket::{self, Bucket, Entry, Held};
use crate::hash::KeyHash;
use crate::item;
use crate::meta::Stamped;
use crate::mode::Mode;
use crate::probe::Probe;
use crate::shape::{KEY_BYTES_MAX, Shape};
use crate::stripe::Event;
use crate::touch::Access::Write;
use crate::touch::{Structure, blocks};
use crate::writers::Writers;
use nebula_sys::sync::{AtomicU64, Ordering, fence};

/// The outcome of a SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOutcome {
    /// The key had no item and now has one.
    Inserted,
    /// The key's item was overwritten in place.
    UpdatedInPlace,
    /// The key's item had too little space; a new item was appended to the log.
    Appended,
}

/// Why a SET had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// A key outside 1..=255 bytes.
    #[error("key of {got} bytes is outside 1..={KEY_BYTES_MAX}")]
    KeyBytes {
        /// The key's length in bytes.
        got: usize,
    },
    /// A value longer than the store takes.
    #[error("value of {got} bytes exceeds {max}")]
    ValueBytes {
        /// The value's length in bytes.
        got: usize,
        /// The most that the store takes.
        max: usize,
    },
    /// An item that does not fit even an empty log: in [`Mode::Cache`] it must fit into a segment.
    #[error("item of {got} bytes exceeds the {max} bytes that fit this store's log; make the log larger")]
    ItemBytes {
        /// The bytes of header, key and value, each padded to 8.
        got: usize,
        /// The most that fits.
        max: usize,
    },
    /// No space: the log or the extra buckets of [`Mode::Store`] are full.
    #[error("the store is full")]
    Full,
}

pub(super) struct Found<'a> {
    pub(super) entry_word: &'a AtomicU64,
    pub(super) entry: Entry,
}

enum Update {
    Done,
    NoRoom,
    /// Not tried: the item has metadata.
    Extended,
}

impl<P: Probe> Store<P> {
    /// Stores `value` under `key`. Cost: one line of index and the item's lines; no allocation. At
    /// the end of a log segment of a [`Mode::Cache`], it waits for writers inside the next segment.
    ///
    /// # Errors
    ///
    /// [`SetError`]; the store is then unchanged.
    #[inline]
    pub fn set(&self, hash: KeyHash, key: &[u8], value: &[u8]) -> Result<SetOutcome, SetError> {
        let shape = self.check(key, value)?;
        let outcome = self.set_checked(hash, key, value, shape)?;
        self.carry_after(outcome, shape.granules());
        Ok(outcome)
    }

    #[inline(always)]
    fn set_checked(&self, hash: KeyHash, key: &[u8], value: &[u8], shape: Shape) -> Result<SetOutcome, SetError> {
        let mut held = self.hold(hash);
        let Some(found) = self.find(&held, hash, key) else {
            return self.insert(&mut held, hash, key, value, None);
        };
        match self.update_in_place(&mut held, &found, key, value, shape) {
            Update::Done => {
                if !found.entry.is_read_often() {
                    held.set(found.entry_word, found.entry.read());
                }
                self.count(Event::UpdatedInPlace);
                return Ok(SetOutcome::UpdatedInPlace);
            }
            Update::Extended => return self.set_extended(&mut held, hash, key, value),
            Update::NoRoom => {}
        }
        let entry = self.append(hash, key, value, None)?;
        held.set(found.entry_word, entry);
        self.free(found.entry);
        self.count(Event::Appended);
        Ok(SetOutcome::Appended)
    }

    /// After a store that appended: advances the pass of eviction, if there is one.
    #[inline]
    pub(super) fn carry_after(&self, outcome: SetOutcome, granules: u64) {
        if outcome != SetOutcome::UpdatedInPlace && self.keeps_read() {
            self.carry_over(granules);
        }
    }

    #[inline]
    pub(super) fn check(&self, key: &[u8], value: &[u8]) -> Result<Shape, SetError> {
        let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
        let (got, max) = (shape.words() * 8, self.log.item_bytes_max());
        if !(1..=KEY_BYTES_MAX).contains(&key.len()) {
            Err(SetError::KeyBytes { got: key.len() })
        } else if value.len() > self.value_bytes_max {
            Err(SetError::ValueBytes { got: value.len(), max: self.value_bytes_max })
        } else if got > max {
            Err(SetError::ItemBytes { got, max })
        } else {
            Ok(shape)
        }
    }

    #[inline]
    pub(super) fn hold(&self, hash: KeyHash) -> Held<'_> {
        self.probe.touch(Structure::Bucket, 0..=0, Write);
        let home = self.index.home(hash);
        match self.writers {
            Writers::Many => bucket::hold(home),
            Writers::One => bucket::hold_alone(home),
        }
    }

    #[inline]
    pub(super) fn count(&self, event: Event) {
        match self.writers {
            Writers::Many => self.counters.count(event),
            Writers::One => self.counters.count_alone(event),
        }
    }

    /// The entry of `key` in a held bucket, after checking that its item is valid.
    #[inline]
    pub(super) fn find<'a>(&'a self, held: &Held<'a>, hash: KeyHash, key: &[u8]) -> Option<Found<'a>> {
        let window = self.window();
        for bucket in self.chain(held.home()) {
            for (slot, entry) in bucket::entries_with_tag(bucket, hash.tag()) {
                if self.item_if_key(window, entry, key).is_none() {
                    continue;
                }
                // Acquire fence: pairs with the Release fence of `Log::reserve`. If the key
                // compared above was not this item's, because another core is recycling its space,
                // the head has moved past it.
                fence(Ordering::Acquire);
                if self.log.window().contains(entry.position()) {
                    return Some(Found { entry_word: &bucket[slot], entry });
                }
            }
        }
        None
    }

    #[inline]
    fn update_in_place(
        &self,
        held: &mut Held<'_>,
        found: &Found<'_>,
        key: &[u8],
        value: &[u8],
        shape: Shape,
    ) -> Update {
        self.touch_pin();
        let Some(item) = self.log.pin(found.entry.position()) else { return Update::NoRoom };
        // Read again: before the pin, another core may have been recycling the item, and `find` may
        // have seen its remains.
        let Some(header) = item::header_if_key(item.words, key) else { return Update::NoRoom };
        if header.is_extended() {
            return Update::Extended;
        }
        if !header.has_room_for(shape) {
            return Update::NoRoom;
        }
        for blocks in shape.blocks_overwritten().into_iter().flatten() {
            self.probe.touch(Structure::LogItem, blocks, Write);
        }
        held.will_change();
        item::overwrite(item.words, header, value);
        Update::Done
    }

    /// A SET of a key whose item has metadata: clears flags and expiry, and gets a new CAS number.
    #[cold]
    fn set_extended<'a>(
        &'a self,
        held: &mut Held<'a>,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
    ) -> Result<SetOutcome, SetError> {
        let located = self.locate(held, hash, key);
        let stamped = self.stamp(&Put { now: self.state.clock(), ..Put::default() });
        self.store_extended(held, located, hash, key, value, &stamped)
    }

    /// Stores the key's first item, with metadata if there is any.
    pub(super) fn insert<'a>(
        &'a self,
        held: &mut Held<'a>,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
        stamped: Option<&Stamped>,
    ) -> Result<SetOutcome, SetError> {
        let place = self.place(held).ok_or(SetError::Full)?;
        let entry = self.append(hash, key, value, stamped)?;
        if place.load(Ordering::Relaxed) != Entry::EMPTY.0 {
            self.count(Event::Evicted);
        }
        held.set(place, entry);
        self.count(Event::Inserted);
        if stamped.is_some() {
            self.counters.count_after(Event::Extended);
        }
        Ok(SetOutcome::Inserted)
    }

    /// The slot for one more entry: an empty one, or one whose item is gone; otherwise one of an
    /// unused extra bucket, or in a cache that has none the oldest.
    ///
    /// Departs: MICA replaces an entry with the same tag before it uses an empty one, because that
    /// entry is likely stale; here staleness is checked.
    #[inline(always)]
    pub(super) fn place<'a>(&'a self, held: &mut Held<'a>) -> Option<&'a AtomicU64> {
        let window = self.window();
        let is_free = |entry: Entry| entry == Entry::EMPTY || !window.contains(entry.position());
        for bucket in self.chain(held.home()) {
            if let Some((slot, _)) = bucket::entries(bucket).find(|&(_, entry)| is_free(entry)) {
                return Some(&bucket[slot]);
            }
        }
        self.place_in_full(held)
    }

    /// The slot in a bucket whose chain is full.
    fn place_in_full<'a>(&'a self, held: &mut Held<'a>) -> Option<&'a AtomicU64> {
        if let Some(fresh) = self.extend(held) {
            return Some(&fresh[1]);
        }
        let window = self.window();
        // If reads are noted, unread entries go first; otherwise all count as read.
        let order = |entry: Entry| (entry.reads(), window.age_order(entry.position()));
        let of = |bucket: &'a Bucket| bucket::entries(bucket).map(move |(slot, entry)| (&bucket[slot], entry));
        let entries = self.chain(held.home()).flat_map(of).filter(|_| self.mode == Mode::Cache);
        entries.min_by_key(|&(_, entry)| order(entry)).map(|(word, _)| word)
    }

    #[inline]
    pub(super) fn append(
        &self,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
        stamped: Option<&Stamped>,
    ) -> Result<Entry, SetError> {
        let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
        let granules = if stamped.is_some() { shape.granules_extended(self.mode) } else { shape.granules() };
        // Keeps its pin until the item is written.
        let reserved = self.log.reserve(granules).map_err(|_| SetError::Full)?;
        self.touch_pin();
        self.probe.touch(Structure::LogTail, 0..=0, Write);
        self.probe.touch(Structure::AppendedItem, blocks(0..shape.words()), Write);
        let item = self.log.item(reserved.position);
        match stamped {
            Some(stamped) => item::write_extended(item, granules, key, value, &stamped.words()),
            None => item::write(item, key, value),
        }
        Ok(self.entry(hash, reserved.position))
    }

    #[inline]
    pub(super) fn touch_pin(&self) {
        if self.mode == Mode::Cache {
            self.probe.touch(Structure::SegmentPin, 0..=0, Write);
        }
    }
}
