//! The store: an ordered map within a bound on memory.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_skiplist::SkipMap;

use crate::budget::{Budget, Full, Room};

/// Bytes of an item in addition to its key and value.
///
/// # Source
///
/// Derived: two slices of 16 B, room of 16 B, a node of 24 B with two links on average, two headers
/// of the allocator of 16 B.
pub const ITEM_OVERHEAD_BYTES: u64 = 16 + 16 + 16 + 24 + 2 * 8 + 2 * 16;

/// Memory is freed after two epochs; each call may begin one.
const EPOCHS: usize = 3;

/// A value, and the room of it and its key.
struct Value {
    bytes: Box<[u8]>,
    _room: Room,
}

/// An ordered key-value store that any thread may read and write.
///
/// Readers take no lock and never wait. A SET replaces a value as a whole, so a reader has either
/// the old one or the new one.
///
/// # Cost
///
/// O(log items) an operation, and O(pairs) more for a scan. Only a SET allocates. A replaced or
/// deleted item counts until its memory is freed, when no reader can have it any more. Some 64
/// items of each thread that has stopped writing may stay counted.
///
/// # Examples
///
/// ```
/// use nebula_ordered::OrderedStore;
///
/// let store = OrderedStore::new(1 << 20);
/// store.set(b"key", b"one")?;
/// store.set(b"key", b"two")?;
/// assert_eq!(store.get(b"key", <[u8]>::to_vec), Some(b"two".to_vec()));
/// assert!(store.delete(b"key"));
/// assert_eq!(store.get(b"key", <[u8]>::len), None);
/// # Ok::<(), nebula_ordered::Full>(())
/// ```
pub struct OrderedStore {
    map: SkipMap<Box<[u8]>, Value>,
    budget: Arc<Budget>,
}

impl OrderedStore {
    /// An empty store of at most `bytes_max` bytes; each item takes [`ITEM_OVERHEAD_BYTES`] in
    /// addition.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self { map: SkipMap::new(), budget: Budget::new(bytes_max) }
    }

    /// Lends the value of `key` to `use_value`; returns `None` without a call if there is no such
    /// key.
    #[inline]
    pub fn get<R>(&self, key: &[u8], use_value: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.map.get(key).map(|entry| use_value(&entry.value().bytes))
    }

    /// Stores `value` under `key`, replacing any other.
    ///
    /// # Errors
    ///
    /// [`Full`]; the previous value is kept.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Full> {
        let room = self.room_for(key.len() as u64 + value.len() as u64 + ITEM_OVERHEAD_BYTES)?;
        self.map.insert(key.into(), Value { bytes: value.into(), _room: room });
        Ok(())
    }

    /// Reserves room. If there is none, first frees memory that this thread has discarded: a full
    /// store would not trigger that.
    #[inline]
    fn room_for(&self, item_bytes: u64) -> Result<Room, Full> {
        self.budget.take(item_bytes).or_else(|_| {
            (0..EPOCHS).for_each(|_| crossbeam_epoch::pin().flush());
            self.budget.take(item_bytes)
        })
    }

    /// Removes `key`; returns whether it was there.
    pub fn delete(&self, key: &[u8]) -> bool {
        self.map.remove(key).is_some()
    }

    /// Lends pairs from `from` on to `visit`, in ascending order of their keys, until `items` were
    /// lent, `visit` returns false, or there are no more. Returns how many `visit` accepted.
    ///
    /// Each pair was in the store at some time during the scan. Pairs stored or removed meanwhile
    /// may be missing.
    #[inline]
    pub fn scan(&self, from: &[u8], items: usize, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let pairs = self.map.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        pairs.take(items).take_while(|entry| visit(entry.key(), &entry.value().bytes)).count()
    }

    /// The number of pairs; approximate while others write.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether it has no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Bytes of all items, including those not freed yet.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.budget.used_bytes()
    }
}
