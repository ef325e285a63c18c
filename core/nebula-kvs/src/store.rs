//! The store: its parts, prefetches and counters. Each operation has a module.

#[cfg(not(any(loom, miri)))]
pub(crate) mod adopt;
#[cfg(not(any(loom, miri)))]
mod shared;
mod carry;
mod chain;
pub(crate) mod change;
pub(crate) mod concat;
pub(crate) mod delete;
mod flush;
mod get;
mod item_get;
mod locate;
pub(crate) mod number;
pub(crate) mod put;
mod reclaim;
pub(crate) mod set;
pub(crate) mod snapshot;
mod walk;

#[cfg(not(any(loom, miri)))]
use crate::backing::Home;
#[cfg(any(loom, miri))]
type Home = ();

use crate::bucket::{self, Entry};
use crate::config::{StoreConfig, StoreError, StoreOptions};
use crate::eviction::Eviction;
use crate::hash::KeyHash;
use crate::index::Index;
use crate::item::{self, Header};
use crate::log::{Log, Window};
use crate::mode::Mode;
use crate::probe::{NoProbe, Probe};
use crate::shape::VALUE_BYTES_MAX;
use crate::state::State;
use crate::stats::Stats;
use crate::stripe::{Counters, Event};
use crate::touch::Access::Read;
use crate::touch::{Structure, blocks};
use crate::writers::Writers;
use nebula_sys::{
    mem::WordRegion,
    prefetch,
    sync::{AtomicU32, AtomicU64},
};

/// A key-value store that any thread may read and write.
///
/// **Readers** never write shared memory and never wait for each other: they copy, then check that
/// the copy is consistent. **Writers** of one bucket exclude each other: a writer that is preempted
/// in its critical section of some tens of nanoseconds blocks the others.
///
/// Every operation takes the key's [`hash`](Store::hash), so that a server computes it once for the
/// prefetches and the operation. With the hash of another key, GET finds nothing, and SET stores
/// where only that hash finds it.
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
    state: State,
    counters: Counters,
    /// The second of the last walk for expired items.
    reclaimed_at: AtomicU32,
    mode: Mode,
    writers: Writers,
    /// The entry of a newly stored item besides tag and position: marked as read if the store does
    /// not evict by reads.
    fresh: Entry,
    /// The hash of keys, for items found in the log.
    hash_of: fn(&[u8]) -> KeyHash,
    value_bytes_max: usize,
    /// The file of the memory, if it is to outlive the process.
    _home: Option<Home>,
    probe: P,
}

impl Store {
    /// Creates an empty store.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if memory allocation fails or a size exceeds what an entry can address.
    pub fn try_new(config: StoreConfig) -> Result<Self, StoreError> {
        Self::try_with_probe(config, NoProbe)
    }

    /// Like [`try_new`](Self::try_new), with `options`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Eviction, Store, StoreConfig, StoreOptions};
    /// let options = StoreOptions { eviction: Eviction::Unread, ..StoreOptions::default() };
    /// let store = Store::try_with(StoreConfig::for_items(100, 16, 8), options)?;
    /// # Ok::<(), nebula_kvs::StoreError>(())
    /// ```
    pub fn try_with(config: StoreConfig, options: StoreOptions) -> Result<Self, StoreError> {
        Self::assemble(config, options, Writers::Many, NoProbe)
    }

    /// A store that one thread at a time writes, which the caller ensures.
    pub(crate) fn try_alone(config: StoreConfig, options: StoreOptions) -> Result<Self, StoreError> {
        Self::assemble(config, options, Writers::One, NoProbe)
    }

    /// The hash of `key`, which every operation takes.
    #[inline]
    #[must_use]
    pub fn hash(key: &[u8]) -> KeyHash {
        KeyHash::of(key)
    }
}

impl<P: Probe> Store<P> {
    /// Creates an empty store that reports each access to its memory to `probe`.
    pub fn try_with_probe(config: StoreConfig, probe: P) -> Result<Self, StoreError> {
        Self::assemble(config, StoreOptions::default(), Writers::Many, probe)
    }

    fn assemble(config: StoreConfig, options: StoreOptions, writers: Writers, probe: P) -> Result<Self, StoreError> {
        config.check()?;
        let state = State::try_new()?;
        let index = Index::try_new(&config)?;
        let log = Log::try_new(config.log_bytes, config.mode, config.pages)?;
        Ok(Self::of([state, index, log], &config, options, writers, None, probe))
    }

    /// A store in three regions: state, index, log.
    fn of(
        [state, index, log]: [WordRegion; 3],
        config: &StoreConfig,
        options: StoreOptions,
        writers: Writers,
        home: Option<Home>,
        probe: P,
    ) -> Self {
        let is_unread = config.mode == Mode::Cache && options.eviction == Eviction::Unread;
        Self {
            index: Index::of(index, config),
            log: Log::of(log, config.log_bytes, config.mode, writers),
            writers,
            state: State::of(state),
            counters: Counters::default(),
            reclaimed_at: AtomicU32::new(0),
            mode: config.mode,
            fresh: if is_unread { Entry::EMPTY } else { Entry::EMPTY.read_often() },
            hash_of: options.hash_of,
            value_bytes_max: options.value_bytes_max.min(VALUE_BYTES_MAX),
            _home: home,
            probe,
        }
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// First stage: prefetches the bucket of `hash`.
    #[inline(always)]
    pub fn prefetch_bucket(&self, hash: KeyHash) {
        prefetch::read(self.index.words(), self.index.home_word(hash));
    }

    /// Second stage, once the bucket is in the cache: prefetches the item of `hash`, with
    /// `item_bytes` bytes of key and value. Uses the first entry with a matching tag, valid or not.
    #[inline(always)]
    pub fn prefetch_entry(&self, hash: KeyHash, item_bytes: usize) {
        let home = self.index.home(hash);
        if let Some((_, entry)) = bucket::entries_with_tag(home, hash.tag()).next() {
            prefetch::read_lines(self.log.words(), self.log.word(entry.position()), 8 + item_bytes);
        }
    }

    /// The store's counters, summed over a few threads.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let count = |event| self.counters.total(event);
        let [inserted, deleted, evicted, expired] =
            [Event::Inserted, Event::Deleted, Event::Evicted, Event::Expired].map(count);
        Stats {
            items: inserted.saturating_sub(deleted + evicted + expired),
            inserted,
            updated_in_place: count(Event::UpdatedInPlace),
            appended: count(Event::Appended),
            deleted,
            evicted,
            expired,
            carried: count(Event::Carried),
            log_bytes: self.log.bytes(),
            log_bytes_used: self.log.bytes_used(),
            log_wraps: self.log.wraps(),
            extra_buckets_used: self.index.extra_buckets_used() + self.log.lines_used(),
            index_pages: self.index.pages(),
            log_pages: self.log.pages(),
        }
    }

    /// Counts the keys that a GET would find. Cost: reads the whole index: some tens of
    /// milliseconds for 2 M buckets.
    #[must_use]
    pub fn items_live(&self) -> usize {
        let window = self.log.window();
        let is_live = |entry: Entry| entry != Entry::EMPTY && window.contains(entry.position());
        let entries = self.index.homes().iter().flat_map(|home| self.chain(home)).flat_map(bucket::entries);
        entries.filter(|&(_, entry)| is_live(entry)).count()
    }

    /// The item of `entry`, if it looks valid and has this `key`. Certain after a check of the
    /// head.
    #[inline(always)]
    fn item_if_key(&self, window: Window, entry: Entry, key: &[u8]) -> Option<(Header, &[AtomicU64])> {
        if !window.contains(entry.position()) {
            return None;
        }
        let item = self.log.item(entry.position());
        self.probe.touch(Structure::LogItem, 0..=0, Read);
        let header = item::header_if_key(item, key)?;
        self.probe.touch(Structure::LogItem, blocks(0..header.raw.value_word()), Read);
        Some((header, item))
    }

    #[inline]
    fn entry(&self, hash: KeyHash, position: u64) -> Entry {
        Entry(Entry::new(hash.tag(), position).0 | self.fresh.0)
    }

    /// Whether eviction keeps items that are read.
    #[inline]
    fn keeps_read(&self) -> bool {
        self.fresh == Entry::EMPTY
    }

    #[inline(always)]
    fn window(&self) -> Window {
        self.probe.touch(Structure::LogHead, 0..=0, Read);
        self.log.window()
    }
}
