//! Warm restart: a store in a file's memory, which the next process takes over as it was left.
//!
//! A killed process leaves its memory as its last instruction left it. Half done may be:
//!
//! - a bucket that is held: its version is made even again;
//! - a value that is being overwritten: the item's header says so, and the item is dropped;
//! - an item that no entry leads to yet: its space is free;
//! - a head that was recorded and has not moved yet: the items in between are given up.
//!
//! A process that ended orderly leaves a check of all its memory, which must match.
//!
//! All else is one word that is there or not. So the adopting process walks over the index, looks
//! at each item, and reconstructs its predecessor's own memory: the tail, free runs, counts.

use super::Store;
use crate::backing::{self, Mapped};
use crate::bucket::{self, Bucket, Entry};
use crate::config::{StoreConfig, StoreError, StoreOptions};
use crate::hash::KeyHash;
use crate::item;
use crate::mode::Mode;
use crate::probe::NoProbe;
use crate::shape::KEY_BYTES_MAX;
use crate::stripe::{Event, SEGMENTS_MAX};
use crate::writers::Writers;
use nebula_sys::sync::{AtomicU64, Ordering};
use std::collections::HashSet;
use std::path::Path;

/// The result of an adoption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Whether the process before ended orderly.
    pub was_clean: bool,
    /// Items found.
    pub items: u64,
    /// Items that were dropped: half written, or damaged.
    pub dropped: u64,
    /// Buckets that a writer held when its process ended.
    pub released: u64,
}

/// An item that an entry leads to.
struct Left<'a> {
    position: u64,
    granules: u64,
    word: &'a AtomicU64,
}

impl Store {
    /// Creates an empty store whose memory is in the file `path`, which must not exist: another
    /// process can [`adopt`](Self::adopt) it when this one has ended, however it ends.
    ///
    /// Use a file system in memory, such as `/dev/shm` or a mounted hugetlbfs; on others the kernel
    /// writes changes to a disk. The file system decides on the pages; `config.pages` is ignored.
    /// Cost: the kernel fills the memory with zeros: about a second for some gigabytes.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file exists, or its bytes cannot be reserved.
    pub fn create_in(path: &Path, config: StoreConfig, options: StoreOptions) -> Result<Self, StoreError> {
        config.check()?;
        let Mapped { regions, home, .. } = backing::create(path, &config)?;
        Ok(Self::of(regions, &config, options, Writers::Many, Some(home), NoProbe))
    }

    /// Takes over the store that another process has left in the file `path`, with the same sizes.
    /// Keys must hash as `options.hash_of` does, and the callers' clock must continue. Cost: reads
    /// the index and each item's first line, about half a second for a million items; all of the
    /// memory, if the process ended orderly.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no such file, another process still has it, or it does not fit;
    /// the file stays unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Store, StoreConfig, StoreOptions};
    /// let path = std::env::temp_dir().join(format!("nebula-doc-{}", std::process::id()));
    /// let config = StoreConfig::for_items(100, 16, 8);
    /// let store = Store::create_in(&path, config, StoreOptions::default())?;
    /// store.set(Store::hash(b"key"), b"key", b"value")?;
    /// drop(store);
    /// let (store, adopted) = Store::adopt(&path, config, StoreOptions::default())?;
    /// assert!(adopted.was_clean && store.get(Store::hash(b"key"), b"key", &mut Vec::new()));
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adopt(path: &Path, config: StoreConfig, options: StoreOptions) -> Result<(Self, Adopted), StoreError> {
        config.check()?;
        let Mapped { regions, home, was_clean } = backing::open(path, &config)?;
        let store = Self::of(regions, &config, options, Writers::Many, Some(home), NoProbe);
        let adopted = Adopted { was_clean, ..store.mend() };
        Ok((store, adopted))
    }

    /// Reconstructs the previous process's own memory. No other thread uses the store yet.
    fn mend(&self) -> Adopted {
        let mut adopted = Adopted::default();
        self.adopt_chains();
        self.log.adopt_head();
        let mut left = Vec::new();
        for home in self.index.homes() {
            adopted.released += u64::from(bucket::mend(home));
            for bucket in self.chain(home) {
                for (slot, entry) in bucket::entries(bucket).filter(|&(_, entry)| entry != Entry::EMPTY) {
                    let word = &bucket[slot];
                    match self.item_left(home, entry, word) {
                        Some(item) => left.push(item),
                        None => adopted.dropped += u64::from(self.drop_left(entry, word)),
                    }
                }
            }
        }
        left.sort_unstable_by_key(|item| item.position);
        let mut end = 0;
        left.retain(|item| {
            let is_apart = item.position >= end;
            if is_apart {
                end = item.position + item.granules;
            } else {
                item.word.store(Entry::EMPTY.0, Ordering::Relaxed);
                adopted.dropped += 1;
            }
            is_apart
        });
        self.log.adopt_items(left.iter().map(|item| (item.position, item.granules)));
        self.counters.add(Event::Inserted, left.len() as u64);
        adopted.items = left.len() as u64;
        adopted
    }

    /// Counts the buckets of chains; cuts a chain at a link that leads nowhere, or to a bucket of
    /// another chain.
    fn adopt_chains(&self) {
        let segment_of = self.log.lines_left();
        let (mut linked, mut extras_used, mut lines_used) = (HashSet::new(), 0, [0; SEGMENTS_MAX]);
        for home in self.index.homes() {
            let mut bucket = home;
            while let Some(extra) = bucket::next_extra(bucket) {
                let behind = extra.checked_sub(self.index.extra_buckets());
                let segment = behind.map(|line| segment_of(line).filter(|_| self.mode == Mode::Cache));
                let next = self.extra(extra).filter(|_| segment != Some(None) && linked.insert(extra));
                let Some(next) = next else {
                    bucket::cut(bucket);
                    break;
                };
                match (segment.flatten(), behind) {
                    (Some(segment), Some(line)) => self.log.note_line(&mut lines_used[segment], line),
                    _ => extras_used = extras_used.max(extra + 1),
                }
                bucket = next;
            }
        }
        self.index.adopt(extras_used);
        self.log.adopt_given(&lines_used);
    }

    /// The item of an entry of `home`, if it is valid and complete. Notes its metadata.
    fn item_left<'a>(&self, home: &Bucket, entry: Entry, word: &'a AtomicU64) -> Option<Left<'a>> {
        let mut key = [0; KEY_BYTES_MAX];
        if !self.log.window().contains(entry.position()) {
            return None;
        }
        let words = self.log.item(entry.position());
        let (granules, key) = item::whole(words, &mut key)?;
        let position = self.log.position_of(entry.position(), granules)?;
        let hash: KeyHash = (self.hash_of)(key);
        let is_its_own = std::ptr::eq(self.index.home(hash), home) && entry.has_tag(hash.tag());
        if !is_its_own {
            return None;
        }
        if let Some(stamped) = item::stamped(words) {
            self.state.note_cas(stamped.meta.cas);
            self.counters.add(Event::Extended, 1);
        }
        // The meaning of reads depends on how this process evicts.
        word.store(Entry(entry.carried_to(position).0 | self.fresh.0).0, Ordering::Relaxed);
        Some(Left { position, granules, word })
    }

    /// Empties an entry; returns whether an item is lost that the log had not recycled.
    fn drop_left(&self, entry: Entry, word: &AtomicU64) -> bool {
        word.store(Entry::EMPTY.0, Ordering::Relaxed);
        self.log.window().contains(entry.position())
    }
}
