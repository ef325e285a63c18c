//! The store: GET, SET and DELETE over index and log.

use crate::{
    KeyHash, NoProbe, Probe, Stats, StoreConfig, StoreError, ValueSink,
    backoff::Backoff,
    bucket::{self, Bucket, Entry, Held},
    config::Mode,
    index::Index,
    item::{self, Header, KEY_BYTES_MAX, Shape, VALUE_BYTES_MAX},
    log::{Log, Window},
    stripe::{Counters, Event},
    touch::{
        Access::{Read, Write},
        Structure, blocks,
    },
};
use nebula_sys::{
    prefetch,
    sync::{AtomicU64, Ordering, fence},
};

/// What a SET did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOutcome {
    /// The key had no item; it has one.
    Inserted,
    /// The key's item was overwritten where it stood.
    UpdatedInPlace,
    /// The key's item had too little room; another was appended to the log.
    Appended,
}

/// Why a SET did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// A key outside 1..=255 bytes.
    #[error("key of {got} bytes is outside 1..={KEY_BYTES_MAX}")]
    KeyBytes {
        /// The key's bytes.
        got: usize,
    },
    /// A value over 1 MiB − 1.
    #[error("value of {got} bytes is over {VALUE_BYTES_MAX}")]
    ValueBytes {
        /// The value's bytes.
        got: usize,
    },
    /// An item that this log is too small for, however empty: in [`Mode::Cache`] it must fit into a segment.
    #[error("item of {got} bytes is over the {max} that this store's log can take; make the log larger")]
    ItemBytes {
        /// The bytes of header, key and value, each padded to 8.
        got: usize,
        /// The most that fits.
        max: usize,
    },
    /// No room: the log or the extra buckets of [`Mode::Store`] are used up.
    #[error("the store is full")]
    Full,
}

/// A key-value store that any thread may read and write.
///
/// **Readers** never write shared memory and never wait for each other: they copy, then check that what they copied was whole.
/// **Writers** of one bucket take turns. A writer that is preempted in its section of some tens of nanoseconds holds up those of its bucket.
///
/// Every operation takes the key's [`hash`](Store::hash), so that a server computes it once for the prefetches and the operation. A hash of
/// another key finds nothing, or stores where only that hash finds it.
///
/// # Examples
///
/// ```
/// use nebula_kvs::{SetOutcome, Store, StoreConfig};
/// let store = Store::try_new(StoreConfig::for_items(100, 16, 8))?;
/// let hash = Store::hash(b"key");
/// assert_eq!(store.set(hash, b"key", b"one")?, SetOutcome::Inserted);
/// assert_eq!(store.set(hash, b"key", b"two")?, SetOutcome::UpdatedInPlace);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<P = NoProbe> {
    index: Index,
    log: Log,
    counters: Counters,
    mode: Mode,
    probe: P,
}

impl Store {
    /// Makes an empty store.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the memory cannot be had or the sizes are beyond what an entry can name.
    ///
    /// # Cost
    ///
    /// Maps the memory; pages are filled when first touched.
    pub fn try_new(config: StoreConfig) -> Result<Self, StoreError> {
        Self::try_with_probe(config, NoProbe)
    }

    /// The hash of `key`, as every operation wants it.
    #[inline]
    #[must_use]
    pub fn hash(key: &[u8]) -> KeyHash {
        KeyHash::of(key)
    }
}

/// An item found by a writer that holds its bucket.
struct Found<'a> {
    entry_word: &'a AtomicU64,
    entry: Entry,
}

impl<P: Probe> Store<P> {
    /// Makes an empty store that tells `probe` of each touch of its memory.
    ///
    /// # Errors
    ///
    /// As [`try_new`](Store::try_new).
    pub fn try_with_probe(config: StoreConfig, probe: P) -> Result<Self, StoreError> {
        config.check()?;
        Ok(Self {
            index: Index::try_new(&config)?,
            log: Log::try_new(config.log_bytes, config.mode, config.pages)?,
            counters: Counters::default(),
            mode: config.mode,
            probe,
        })
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    // -- GET --

    /// Hands the value of `key` to `sink` and returns true, or returns false where there is none.
    ///
    /// On false, `sink` may have been written to; what is in it means nothing.
    ///
    /// # Cost
    ///
    /// One line of index and the item's lines; no allocation, no write to shared memory. While another thread changes the same bucket
    /// it starts over.
    #[inline]
    pub fn get(&self, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> bool {
        let home = self.index.home(hash);
        let mut backoff = Backoff::default();
        loop {
            if let Some(is_found) = self.get_optimistically(home, hash, key, sink) {
                return is_found;
            }
            backoff.wait();
        }
    }

    /// One attempt; nothing when another thread held the bucket or changed it meanwhile.
    #[inline]
    fn get_optimistically(&self, home: &Bucket, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> Option<bool> {
        let begun = bucket::begin_read(home)?;
        let position = self.copy_value(home, hash, key, sink);
        // Acquire fence: pairs with the Release fences of `bucket::hold` and `Log::reserve`. If any word copied above was written
        // later than the version or the item's lap allow, the loads below see that they have moved.
        fence(Ordering::Acquire);
        let is_found = position.is_some_and(|position| self.log.window().contains(position));
        bucket::is_unchanged(home, begun).then_some(is_found)
    }

    /// Copies the value to `sink`, whole or not, and returns the item's position.
    #[inline]
    fn copy_value(&self, home: &Bucket, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> Option<u64> {
        self.probe.touch(Structure::Bucket, 0..=0, Read);
        let window = self.window();
        for bucket in self.index.chain(home) {
            for (_, entry) in bucket::entries_with_tag(bucket, hash.tag()) {
                let Some((header, item)) = self.item_if_key(window, entry, key) else { continue };
                let Some(value) = header.value(item) else { continue };
                self.probe.touch(Structure::LogItem, blocks(0..header.shape.words()), Read);
                sink.write(value, header.shape.value_bytes);
                return Some(entry.position());
            }
        }
        None
    }

    /// The item of `entry`, if it looks valid and its key is `key`. Only a look at the head *afterwards* makes this certain.
    #[inline]
    fn item_if_key(&self, window: Window, entry: Entry, key: &[u8]) -> Option<(Header, &[AtomicU64])> {
        if !window.contains(entry.position()) {
            return None;
        }
        let item = self.log.item(entry.position());
        self.probe.touch(Structure::LogItem, 0..=0, Read);
        let header = item::header_if_key(item, key)?;
        self.probe.touch(Structure::LogItem, blocks(0..header.shape.value_word()), Read);
        Some((header, item))
    }

    // -- SET --

    /// Stores `value` under `key`.
    ///
    /// # Errors
    ///
    /// [`SetError`]; the store is then as before.
    ///
    /// # Cost
    ///
    /// One line of index and the item's lines; no allocation. At the end of a log segment, in [`Mode::Cache`], it waits for writers that
    /// are still inside the next.
    #[inline]
    pub fn set(&self, hash: KeyHash, key: &[u8], value: &[u8]) -> Result<SetOutcome, SetError> {
        let shape = self.check(key, value)?;
        let mut held = self.hold(hash);
        let Some(found) = self.find(&held, hash, key) else {
            return self.insert(&mut held, hash, key, value);
        };
        if self.update_in_place(&mut held, &found, key, value, shape) {
            self.counters.count(Event::UpdatedInPlace);
            return Ok(SetOutcome::UpdatedInPlace);
        }
        let entry = self.append(hash, key, value)?;
        held.set(found.entry_word, entry);
        self.counters.count(Event::Appended);
        Ok(SetOutcome::Appended)
    }

    #[inline]
    fn check(&self, key: &[u8], value: &[u8]) -> Result<Shape, SetError> {
        let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
        let (got, max) = (shape.words() * 8, self.log.item_bytes_max());
        if !(1..=KEY_BYTES_MAX).contains(&key.len()) {
            Err(SetError::KeyBytes { got: key.len() })
        } else if value.len() > VALUE_BYTES_MAX {
            Err(SetError::ValueBytes { got: value.len() })
        } else if got > max {
            Err(SetError::ItemBytes { got, max })
        } else {
            Ok(shape)
        }
    }

    #[inline]
    fn hold(&self, hash: KeyHash) -> Held<'_> {
        self.probe.touch(Structure::Bucket, 0..=0, Write);
        bucket::hold(self.index.home(hash))
    }

    /// The entry of `key` in a held bucket, its item seen to be valid.
    #[inline]
    fn find<'a>(&'a self, held: &Held<'a>, hash: KeyHash, key: &[u8]) -> Option<Found<'a>> {
        let window = self.window();
        for bucket in self.index.chain(held.home()) {
            for (slot, entry) in bucket::entries_with_tag(bucket, hash.tag()) {
                if self.item_if_key(window, entry, key).is_some() {
                    // Acquire fence: pairs with the Release fence of `Log::reserve`. If the key compared above was not this item's, as
                    // another core is recycling its place, the head has moved past it.
                    fence(Ordering::Acquire);
                    let is_live = self.log.window().contains(entry.position());
                    return is_live.then(|| Found { entry_word: &bucket[slot], entry });
                }
            }
        }
        None
    }

    /// Overwrites the found item, if it is still there and has room.
    #[inline]
    fn update_in_place(&self, held: &mut Held<'_>, found: &Found<'_>, key: &[u8], value: &[u8], shape: Shape) -> bool {
        self.touch_pin();
        let Some(item) = self.log.pin(found.entry.position()) else { return false };
        // Looked at again: before the pin, another core may have been recycling the item, and what `find` saw were its remains.
        let Some(header) = item::header_if_key(item.words, key).filter(|header| header.has_room_for(shape)) else {
            return false;
        };
        for blocks in shape.blocks_overwritten().into_iter().flatten() {
            self.probe.touch(Structure::LogItem, blocks, Write);
        }
        held.will_change();
        item::overwrite(item.words, header, value);
        true
    }

    /// Appends an item for a key that has none and enters it.
    fn insert<'a>(
        &'a self,
        held: &mut Held<'a>,
        hash: KeyHash,
        key: &[u8],
        value: &[u8],
    ) -> Result<SetOutcome, SetError> {
        let place = self.place(held).ok_or(SetError::Full)?;
        let entry = self.append(hash, key, value)?;
        if place.load(Ordering::Relaxed) != Entry::EMPTY.0 {
            self.counters.count(Event::Evicted);
        }
        held.set(place, entry);
        self.counters.count(Event::Inserted);
        Ok(SetOutcome::Inserted)
    }

    /// The place for one more entry: an empty one, or one whose item is gone; else the oldest in a cache, or a fresh extra bucket.
    ///
    /// Departs: MICA takes an entry of the same tag before an empty one, as it is likely stale; here staleness is looked up.
    fn place<'a>(&'a self, held: &mut Held<'a>) -> Option<&'a AtomicU64> {
        let window = self.window();
        let is_free = |entry: Entry| entry == Entry::EMPTY || !window.contains(entry.position());
        for bucket in self.index.chain(held.home()) {
            if let Some((slot, _)) = bucket::entries(bucket).find(|&(_, entry)| is_free(entry)) {
                return Some(&bucket[slot]);
            }
        }
        match self.mode {
            Mode::Store => self.index.extend(held).map(|fresh| &fresh[1]),
            Mode::Cache => {
                let oldest = bucket::entries(held.home()).min_by_key(|&(_, entry)| window.age_order(entry.position()));
                oldest.map(|(slot, _)| &held.home()[slot])
            }
        }
    }

    /// Writes an item at the log's tail and returns the entry that leads to it.
    #[inline]
    fn append(&self, hash: KeyHash, key: &[u8], value: &[u8]) -> Result<Entry, SetError> {
        let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
        let reserved = self.log.reserve(shape.granules()).map_err(|_| SetError::Full)?;
        self.touch_pin();
        self.probe.touch(Structure::LogTail, 0..=0, Write);
        self.probe.touch(Structure::AppendedItem, blocks(0..shape.words()), Write);
        item::write(self.log.item(reserved.position), key, value);
        Ok(Entry::new(hash.tag(), reserved.position))
    }

    // -- DELETE --

    /// Removes `key` and returns whether it was there.
    ///
    /// # Cost
    ///
    /// One line of index and the lines of the item's key; the item itself stays behind in the log.
    pub fn delete(&self, hash: KeyHash, key: &[u8]) -> bool {
        let mut held = self.hold(hash);
        let Some(found) = self.find(&held, hash, key) else { return false };
        held.set(found.entry_word, Entry::EMPTY);
        self.counters.count(Event::Deleted);
        true
    }

    // -- prefetch --

    /// First stage: hints that the bucket of `hash` is wanted soon.
    #[inline]
    pub fn prefetch_bucket(&self, hash: KeyHash) {
        prefetch::read(self.index.words(), self.index.home_word(hash));
    }

    /// Second stage, once the bucket has come: hints that the item of `hash` is wanted soon, with `item_bytes` bytes of key and value.
    ///
    /// Goes by the first entry with the right tag, valid or not: a hint need not be right.
    #[inline]
    pub fn prefetch_entry(&self, hash: KeyHash, item_bytes: usize) {
        let home = self.index.home(hash);
        if let Some((_, entry)) = bucket::entries_with_tag(home, hash.tag()).next() {
            prefetch::read_lines(self.log.words(), self.log.word(entry.position()), 8 + item_bytes);
        }
    }

    // -- what it holds --

    /// What the store has done so far.
    ///
    /// # Cost
    ///
    /// Reads some counters of each of a few threads.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let count = |event| self.counters.total(event);
        let (inserted, deleted, evicted) = (count(Event::Inserted), count(Event::Deleted), count(Event::Evicted));
        Stats {
            items: inserted.saturating_sub(deleted + evicted),
            inserted,
            updated_in_place: count(Event::UpdatedInPlace),
            appended: count(Event::Appended),
            deleted,
            evicted,
            log_wraps: self.log.wraps(),
            extra_buckets_used: self.index.extra_buckets_used(),
            index_pages: self.index.pages(),
            log_pages: self.log.pages(),
        }
    }

    /// Counts the keys that a GET would find.
    ///
    /// # Cost
    ///
    /// Reads the whole index: some tens of milliseconds for 2 M buckets.
    #[must_use]
    pub fn items_live(&self) -> usize {
        let window = self.log.window();
        let is_live = |entry: Entry| entry != Entry::EMPTY && window.contains(entry.position());
        let entries = self.index.buckets().iter().flat_map(bucket::entries);
        entries.filter(|&(_, entry)| is_live(entry)).count()
    }

    #[inline]
    fn window(&self) -> Window {
        self.probe.touch(Structure::LogHead, 0..=0, Read);
        self.log.window()
    }

    #[inline]
    fn touch_pin(&self) {
        if self.mode == Mode::Cache {
            self.probe.touch(Structure::SegmentPin, 0..=0, Write);
        }
    }
}
