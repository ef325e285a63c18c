//! GET: copies first, then checks whether the copy is consistent.

use crate::{
    KeyHash, Probe, Store, ValueSink,
    backoff::Backoff,
    bucket::{self, Bucket},
    item::Header,
    meta::Stamped,
    touch::{Access::Read, Structure, blocks},
};
use nebula_sys::sync::{AtomicU64, Ordering, fence};

impl<P: Probe> Store<P> {
    /// Passes the value of `key` to `sink` and returns true, or returns false if there is none.
    ///
    /// Ignore the contents of `sink` if it returns false. An item that has expired by the latest
    /// time of any operation is not found. Cost: one line of index and the item's lines; no
    /// allocation, no write to shared memory. Retries if another thread changes the same bucket
    /// meanwhile.
    #[inline(always)]
    pub fn get(&self, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> bool {
        let home = self.index.home(hash);
        match self.get_optimistically(home, hash, key, sink) {
            Some(is_found) => is_found,
            None => self.get_again(home, hash, key, sink),
        }
    }

    #[cold]
    fn get_again(&self, home: &Bucket, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> bool {
        let mut backoff = Backoff::default();
        loop {
            backoff.wait();
            if let Some(is_found) = self.get_optimistically(home, hash, key, sink) {
                return is_found;
            }
        }
    }

    #[inline(always)]
    fn get_optimistically(&self, home: &Bucket, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> Option<bool> {
        let copy = || self.copy_value(home, hash, key, sink).map(|position| (position, ()));
        self.try_copy(home, copy).map(|found| found.is_some())
    }

    /// One attempt to `copy` from an item, which also gives the item's position; `None` if another
    /// thread held the bucket, changed it meanwhile, or recycled the memory that was copied.
    #[inline(always)]
    pub(super) fn try_copy<T>(&self, home: &Bucket, copy: impl FnOnce() -> Option<(u64, T)>) -> Option<Option<T>> {
        let begun = bucket::begin_read(home)?;
        let copied = copy();
        // Acquire fence: pairs with the Release fences of `bucket::hold` and `Log::reserve`. If any
        // word copied above was written too late for the version or the item's lap, the loads below
        // see that they have moved.
        fence(Ordering::Acquire);
        // A recycled item may have belonged to another key with the same tag, and `key` may still
        // be present: retry.
        let is_true = copied.as_ref().is_none_or(|&(position, _)| self.log.window().contains(position));
        (is_true && bucket::is_unchanged(home, begun)).then(|| copied.map(|(_, copied)| copied))
    }

    /// Copies the value to `sink`, consistent or not, and returns the item's position.
    #[inline(always)]
    fn copy_value(&self, home: &Bucket, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> Option<u64> {
        self.probe.touch(Structure::Bucket, 0..=0, Read);
        let window = self.window();
        for bucket in self.chain(home) {
            for (slot, entry) in bucket::entries_with_tag(bucket, hash.tag()) {
                let Some((header, item)) = self.item_if_key(window, entry, key) else { continue };
                match header.value(item) {
                    Some(value) => {
                        self.probe.touch(Structure::LogItem, blocks(0..header.raw.words()), Read);
                        sink.write(value, header.raw.value_bytes);
                    }
                    None if self.copy_extended(header, item, sink) => {}
                    None => continue,
                }
                if !entry.is_read_often() {
                    bucket::mark_read(&bucket[slot], entry);
                }
                return Some(entry.position());
            }
        }
        None
    }

    /// Copies the value of an item with metadata, if it has not expired by any operation's time.
    #[cold]
    fn copy_extended(&self, header: Header, item: &[AtomicU64], sink: &mut impl ValueSink) -> bool {
        let Some((value, Some(meta))) = header.value_and_meta(item) else { return false };
        let value_bytes = header.shape().value_bytes;
        let is_live = Stamped::load(meta, value_bytes).is_live(self.state.generation(), self.state.clock());
        if is_live {
            sink.write(value, value_bytes);
        }
        is_live
    }
}
