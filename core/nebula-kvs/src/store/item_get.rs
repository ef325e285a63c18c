//! GET with metadata: does not find expired items, and notes that an item was read.

use super::Store;
use crate::backoff::Backoff;
use crate::bucket::{self, Bucket};
use crate::hash::KeyHash;
use crate::meta::{Meta, Stamped};
use crate::probe::Probe;
use crate::sink::ValueSink;
use crate::touch::Access::Read;
use crate::touch::{Structure, blocks};

/// A read is noted in the item if the last noted one is this many seconds old, so that readers of a
/// busy item do not write it.
const NOTED_EVERY_S: u32 = 60;

struct Copied {
    stamped: Stamped,
    is_extended: bool,
}

impl<P: Probe> Store<P> {
    /// Passes the value of `key` to `sink` and returns its metadata from before this read, or
    /// nothing if there is no item or it has expired at `now`. Then ignore the contents of `sink`.
    /// Cost: that of [`get`](Self::get). The first read of an item, and one a minute, hold its
    /// bucket for a moment to note that it was read.
    pub fn get_item(&self, hash: KeyHash, key: &[u8], now: u32, sink: &mut impl ValueSink) -> Option<Meta> {
        let copied = self.read_item(hash, key, now, sink, true)?;
        let Meta { last_access, is_fetched, .. } = copied.stamped.meta;
        if copied.is_extended && (!is_fetched || now.saturating_sub(last_access) >= NOTED_EVERY_S) {
            self.note_access(hash, key, now, copied.stamped.meta.cas);
        }
        Some(copied.stamped.meta)
    }

    /// The metadata of `key`'s item, without counting as a read. Costs as much as a
    /// [`get`](Self::get) without the value.
    pub fn peek(&self, hash: KeyHash, key: &[u8], now: u32) -> Option<Meta> {
        Some(self.read_item(hash, key, now, &mut Ignored, false)?.stamped.meta)
    }

    /// Repeats attempts until one is consistent.
    fn read_item(
        &self,
        hash: KeyHash,
        key: &[u8],
        now: u32,
        sink: &mut impl ValueSink,
        is_use: bool,
    ) -> Option<Copied> {
        self.note_time(now);
        let home = self.index.home(hash);
        let mut backoff = Backoff::default();
        loop {
            if let Some(found) = self.try_copy(home, || self.copy_item(home, hash, key, sink, is_use)) {
                let is_dead = found.as_ref().is_some_and(|copied| !self.is_live(&copied.stamped, now));
                if is_dead {
                    self.reclaim(hash, key, now);
                }
                return found.filter(|_| !is_dead);
            }
            backoff.wait();
        }
    }

    fn copy_item(
        &self,
        home: &Bucket,
        hash: KeyHash,
        key: &[u8],
        sink: &mut impl ValueSink,
        is_use: bool,
    ) -> Option<(u64, Copied)> {
        self.probe.touch(Structure::Bucket, 0..=0, Read);
        let window = self.window();
        for bucket in self.chain(home) {
            for (slot, entry) in bucket::entries_with_tag(bucket, hash.tag()) {
                let Some((header, item)) = self.item_if_key(window, entry, key) else { continue };
                let Some((value, meta)) = header.value_and_meta(item) else { continue };
                let shape = header.shape();
                self.probe.touch(Structure::LogItem, blocks(0..shape.words()), Read);
                sink.write(value, shape.value_bytes);
                if is_use && !entry.is_read_often() {
                    bucket::mark_read(&bucket[slot], entry);
                }
                let copied = Copied { stamped: self.stamped(header, meta), is_extended: meta.is_some() };
                return Some((entry.position(), copied));
            }
        }
        None
    }

    /// Notes in the item with CAS number `cas` that it was read at `now`.
    #[cold]
    fn note_access(&self, hash: KeyHash, key: &[u8], now: u32, cas: u64) {
        let held = self.hold(hash);
        let Some(located) = self.locate(&held, hash, key) else { return };
        if located.header.is_extended() && located.stamped.meta.cas == cas {
            let meta = Meta { is_fetched: true, last_access: now, ..located.stamped.meta };
            let words = Stamped { meta, ..located.stamped }.words();
            // The version stays: only the last of these words changes, which tears no copy.
            located.header.store_meta(located.item.words, &words);
        }
    }
}

/// A sink that drops the value.
pub(super) struct Ignored;

impl ValueSink for Ignored {
    #[inline]
    fn write(&mut self, _: &[nebula_sys::sync::AtomicU64], _: usize) {}
}
