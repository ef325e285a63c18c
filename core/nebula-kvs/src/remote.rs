//! GET by remote reads of a store's memory: a bucket, then its item. For a client that reads
//! without asking the server; the caller does the reading.
//!
//! ```text
//! memory   map 64 B … 4 KiB | index | log | head of a cache's log
//!
//! start ─▶ read the bucket ─▶ an entry with the key's tag? ─ no ─▶ its chain, or absent
//!             ▲                        │ yes
//!             │ another version        ▼
//!             └──────────────── read the item ─▶ its key? ─ no ─▶ the next entry
//!                                      │ yes
//!                                      ▼
//!                        a cache: read the log's head: still valid? ─▶ found
//! ```
//!
//! The map's words of 8 bytes:
//!
//! ```text
//! 0  magic: NEBKVMAP, the first character in the highest byte
//! 1  version 2 (bits 32–63) | lap_bits (0–31): a position modulo 2^lap_bits is a place in the log, in units of 32 B
//! 2  home_mask: number of home buckets less 1
//! 3  extra buckets, behind the home buckets; in a cache, further ones are the lines of its log
//! 4  where the log begins | 5  its length | 6  where the log's head is; 0 where nothing is recycled | 7  0
//! ```
//!
//! An item with metadata, or one that changes at each try, takes an RPC to the server.
//!
//! Each read except that of the head comes with the version of the home bucket. The item belongs to
//! the entry if that version is the bucket's; in a cache whose segments are recycled, the head must
//! not have passed it either.

use crate::bucket::{BUCKET_WORDS, Entry, POSITION_BITS};
use crate::hash::KeyHash;
use crate::index_of::index_of;
use crate::item::GRANULE_BYTES;
use crate::log::Window;
#[cfg(not(any(loom, miri)))]
use crate::mode::Mode;
use crate::shape::{Shape, VALUE_BYTES_MAX};

/// Bytes of a map.
pub const MAP_BYTES: usize = 64;
/// The beginning of the index.
pub(crate) const INDEX_AT: u64 = 4096;
const BUCKET_BYTES: u64 = BUCKET_WORDS as u64 * 8;
const MAGIC: u64 = u64::from_be_bytes(*b"NEBKVMAP");
/// Changes with the meaning of the words of bucket, item or map.
const VERSION: u64 = 2;
/// Extra buckets that a GET reads before it asks the server.
const LINKS_MAX: u32 = 64;
/// Restarts of a GET before it asks the server.
const TRIES: u32 = 64;

/// The places of a store's parts in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMap {
    home_mask: u64,
    extra_buckets: u64,
    log_at: u64,
    log_bytes: u64,
    lap_bits: u32,
    /// The place of the log's head; a store that recycles nothing has none.
    head_at: Option<u64>,
}

impl RemoteMap {
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn new(buckets: (usize, usize), log: (u64, u64), lap_bits: u32, mode: Mode) -> Self {
        let (log_at, log_bytes) = log;
        let (homes, extra) = (buckets.0 as u64, buckets.1 as u64);
        let head_at = (mode == Mode::Cache).then_some(log_at + log_bytes);
        Self { home_mask: homes - 1, extra_buckets: extra, log_at, log_bytes, lap_bits, head_at }
    }

    /// The map's bytes, for the beginning of the memory.
    #[must_use]
    pub fn encode(&self) -> [u8; MAP_BYTES] {
        let kind = VERSION << 32 | u64::from(self.lap_bits);
        let head_at = self.head_at.unwrap_or(0);
        let words = [MAGIC, kind, self.home_mask, self.extra_buckets, self.log_at, self.log_bytes, head_at, 0];
        let mut bytes = [0; MAP_BYTES];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = u64::to_le_bytes(word);
        }
        bytes
    }

    /// Reads a map; `None` if the bytes are not one of this version.
    #[must_use]
    pub fn decode(bytes: &[u8; MAP_BYTES]) -> Option<Self> {
        let word = |nth: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * nth + byte]));
        let lap_bits = u32::try_from(word(1) & 0xFFFF_FFFF).ok().filter(|&bits| bits <= POSITION_BITS)?;
        let is_map = word(0) == MAGIC && word(1) >> 32 == VERSION && word(2).checked_add(1)?.is_power_of_two();
        let head_at = Some(word(6)).filter(|&at| at > 0);
        let [home_mask, extra_buckets, log_at, log_bytes] = [2, 3, 4, 5].map(word);
        // Sums must not wrap; reads beyond the memory are refused later.
        let is_small = [home_mask, extra_buckets, log_at, log_bytes].iter().all(|&number| number < 1 << 48);
        (is_map && is_small).then_some(Self { home_mask, extra_buckets, log_at, log_bytes, lap_bits, head_at })
    }

    /// The place of extra bucket number `extra`, if there is one.
    fn extra_at(&self, extra: u64) -> Option<u64> {
        match extra.checked_sub(self.extra_buckets) {
            None => Some(INDEX_AT + (self.home_mask + 1 + extra) * BUCKET_BYTES),
            Some(line) => {
                let is_there = self.head_at.is_some() && line < self.log_bytes / BUCKET_BYTES;
                is_there.then(|| self.log_at + line * BUCKET_BYTES)
            }
        }
    }

    /// The place of an item, and how many of `bytes` bytes lie in the log.
    fn item_at(&self, position: u64, bytes: usize) -> Option<(u64, u32)> {
        let from = (position & ((1 << self.lap_bits) - 1)) * GRANULE_BYTES as u64;
        let left = self.log_bytes.checked_sub(from).filter(|&left| left >= GRANULE_BYTES as u64)?;
        Some((self.log_at + from, u32::try_from(left.min(bytes as u64)).ok()?))
    }
}

/// The next step of a GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteStep {
    /// Read `bytes` bytes from `at` on in one piece, under the version word at `version_at`, and
    /// pass in the version and the bytes.
    Whole {
        /// Where the version word is.
        version_at: u64,
        /// Where the bytes begin.
        at: u64,
        /// How many.
        bytes: u32,
    },
    /// Read the 8 bytes at this offset and pass them in.
    Word {
        /// Where.
        at: u64,
    },
    /// The value is [there](RemoteGet::value).
    Found,
    /// There is no such key.
    Absent,
    /// Ask the server: the item has metadata, or it changed at each try.
    Ask,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Bucket,
    /// The item of the entry in this slot.
    Item(usize),
    Head,
}

/// One GET. The next one reuses its buffers.
#[derive(Clone, Debug, Default)]
pub struct RemoteGet {
    key: Vec<u8>,
    hash: u64,
    value: Vec<u8>,
    phase: Phase,
    /// The version of the home bucket, once it was read.
    version: Option<u64>,
    home_at: u64,
    bucket: [u64; BUCKET_WORDS],
    position: u64,
    item_bytes: usize,
    links: u32,
    tries: u32,
}

impl RemoteGet {
    /// Begins a GET of `key`. The first read of an item has `item_bytes`; a longer item takes two.
    pub fn begin(&mut self, map: &RemoteMap, hash: KeyHash, key: &[u8], item_bytes: usize) -> RemoteStep {
        self.key.clear();
        self.key.extend_from_slice(key);
        (self.hash, self.tries) = (hash.0, 0);
        self.home_at = INDEX_AT + (hash.bucket() & map.home_mask) * BUCKET_BYTES;
        self.item_bytes = item_bytes.max(GRANULE_BYTES).next_multiple_of(8);
        self.start()
    }

    /// The value, once it was found.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    fn start(&mut self) -> RemoteStep {
        (self.phase, self.version, self.links) = (Phase::Bucket, None, 0);
        self.whole(self.home_at, 64)
    }

    fn whole(&self, at: u64, bytes: u32) -> RemoteStep {
        RemoteStep::Whole { version_at: self.home_at, at, bytes }
    }

    /// The bytes read belong to no version, or to another: starts again.
    pub fn again(&mut self) -> RemoteStep {
        self.tries += 1;
        if self.tries > TRIES { RemoteStep::Ask } else { self.start() }
    }

    /// Takes the version and the bytes that [`RemoteStep::Whole`] asked for.
    pub fn take_whole(&mut self, map: &RemoteMap, version: u64, bytes: &[u8]) -> RemoteStep {
        if *self.version.get_or_insert(version) != version {
            return self.again();
        }
        match self.phase {
            Phase::Bucket => {
                for (word, read) in self.bucket.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*read);
                }
                self.next_entry(map, 1)
            }
            Phase::Item(slot) => self.take_item(map, slot, bytes),
            Phase::Head => RemoteStep::Ask,
        }
    }

    /// The item of the next entry from `slot` on with the key's tag; then the chain.
    fn next_entry(&mut self, map: &RemoteMap, slot: usize) -> RemoteStep {
        let tag = u64::from(KeyHash(self.hash).tag());
        for slot in slot..BUCKET_WORDS {
            let entry = Entry(self.bucket[slot]);
            if entry.0 >> 48 == tag && entry != Entry::EMPTY {
                let Some((at, bytes)) = map.item_at(entry.position(), self.item_bytes) else { continue };
                (self.phase, self.position) = (Phase::Item(slot), entry.position());
                return self.whole(at, bytes);
            }
        }
        let Some(extra) = (self.bucket[0] >> 32).checked_sub(1) else { return RemoteStep::Absent };
        // A store never makes a chain that leads nowhere or in circles.
        match map.extra_at(extra).filter(|_| self.links < LINKS_MAX) {
            Some(at) => {
                self.links += 1;
                self.phase = Phase::Bucket;
                self.whole(at, 64)
            }
            None => RemoteStep::Ask,
        }
    }

    fn take_item(&mut self, map: &RemoteMap, slot: usize, item: &[u8]) -> RemoteStep {
        let Some((header, body)) = item.split_first_chunk() else { return RemoteStep::Ask };
        let header = u64::from_le_bytes(*header);
        let shape = Shape { key_bytes: index_of(header & 0xFF), value_bytes: index_of(header >> 8 & 0xFF_FFFF) };
        if shape.key_bytes != self.key.len() || body.get(..shape.key_bytes) != Some(&self.key[..]) {
            return self.next_entry(map, slot + 1);
        }
        // With metadata, or while the value is being overwritten, no value has such a length.
        if shape.value_bytes > VALUE_BYTES_MAX {
            return RemoteStep::Ask;
        }
        let from = shape.value_word() * 8;
        let Some(value) = item.get(from..from + shape.value_bytes) else {
            let needed = shape.words() * 8;
            return match map.item_at(self.position, needed) {
                Some((at, bytes)) if bytes as usize == needed && needed > item.len() => self.whole(at, bytes),
                _ => RemoteStep::Ask,
            };
        };
        self.value.clear();
        self.value.extend_from_slice(value);
        match map.head_at {
            Some(at) => {
                self.phase = Phase::Head;
                RemoteStep::Word { at }
            }
            None => RemoteStep::Found,
        }
    }

    /// Takes the word that [`RemoteStep::Word`] asked for: the log's head, read after the item.
    pub fn take_word(&mut self, head: u64) -> RemoteStep {
        if Window::from(head).contains(self.position) { RemoteStep::Found } else { self.again() }
    }
}
