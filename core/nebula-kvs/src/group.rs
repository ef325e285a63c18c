//! Group prefetching: the cache misses of sixteen GETs overlap instead of following one another.

use crate::hash::KeyHash;
use crate::probe::Probe;
use crate::sink::ValueSink;
use crate::store::Store;

/// GETs that are prefetched together: enough to keep a core's fill buffers busy, few enough for the
/// lines to stay in L1.
pub const GROUP: usize = 16;

impl<P: Probe> Store<P> {
    /// Looks up each of `keys`, in order and in groups of [`GROUP`]: prefetches all buckets,
    /// prefetches all items, then reads.
    ///
    /// `item_bytes` is how many bytes of key and value to prefetch. After each GET, `served` gets
    /// the key's index, whether it was found, and the sink with its value. No allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Store, StoreConfig};
    /// let store = Store::try_new(StoreConfig::for_items(10, 1, 1))?;
    /// store.set(Store::hash(b"b"), b"b", b"2")?;
    /// let mut found = Vec::new();
    /// store.get_each(&[b"a", b"b"], 2, &mut Vec::new(), |index, is_found, value| {
    ///     if is_found {
    ///         found.push((index, value.clone()));
    ///     }
    /// });
    /// assert_eq!(found, [(1, b"2".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get_each<K: AsRef<[u8]>, S: ValueSink>(
        &self,
        keys: &[K],
        item_bytes: usize,
        sink: &mut S,
        mut served: impl FnMut(usize, bool, &mut S),
    ) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let hashes = self.prefetch_group(keys, item_bytes);
            for (i, (key, hash)) in keys.iter().zip(hashes).enumerate() {
                let is_found = self.get(hash, key.as_ref(), sink);
                served(group * GROUP + i, is_found, sink);
            }
        }
    }

    /// Prefetches the buckets, then the items, of at most [`GROUP`] keys, and returns their hashes;
    /// ignores further keys.
    ///
    /// For loops that [`get_each`](Self::get_each) does not fit, such as a mix of GET and SET.
    #[inline]
    pub fn prefetch_group<K: AsRef<[u8]>>(&self, keys: &[K], item_bytes: usize) -> [KeyHash; GROUP] {
        let mut hashes = [KeyHash(0); GROUP];
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = KeyHash::of(key.as_ref());
            self.prefetch_bucket(*hash);
        }
        for (&hash, _) in hashes.iter().zip(keys) {
            self.prefetch_entry(hash, item_bytes);
        }
        hashes
    }
}
