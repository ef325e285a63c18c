//! The store: an ordered map within a bound on memory.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_skiplist::SkipMap;

use crate::budget::{Budget, Full, Room};

/// What an item takes beside the bytes of its key and its value.
///
/// # Source
///
/// Derived: two slices of 16 B, room of 16 B, a node of 24 B with two links on average, two headers
/// of the allocator of 16 B.
pub const ITEM_OVERHEAD_BYTES: u64 = 16 + 16 + 16 + 24 + 2 * 8 + 2 * 16;

/// How often memory is to be asked for: it is freed when two epochs have passed, each of which a
/// call may begin.
const EPOCHS: usize = 3;

/// A value, and the room that it and its key take.
struct Value {
    bytes: Box<[u8]>,
    _room: Room,
}

/// An ordered key-value store that any thread may read and write.
///
/// Readers take no lock and wait for nobody. A SET replaces a value as a whole, so a reader has
/// either the old one or the new one.
///
/// # Cost
///
/// O(log items) an operation, and O(pairs) more for a scan. A SET allocates; others do not. Memory
/// of what was replaced or deleted is freed, and counts for the bound, until no reader can have it
/// any more; some 64 items of each thread that writes no more may stay counted.
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
    /// An empty store whose items take `bytes_max` bytes at most, each with
    /// [`ITEM_OVERHEAD_BYTES`].
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self { map: SkipMap::new(), budget: Budget::new(bytes_max) }
    }

    /// Lends the value of `key` to `use_value`; `None` without a call where there is no such key.
    #[inline]
    pub fn get<R>(&self, key: &[u8], use_value: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.map.get(key).map(|entry| use_value(&entry.value().bytes))
    }

    /// Stores `value` under `key`, in place of what was there.
    ///
    /// # Errors
    ///
    /// [`Full`]; what was there before is kept.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Full> {
        let room = self.room_for(key.len() as u64 + value.len() as u64 + ITEM_OVERHEAD_BYTES)?;
        self.map.insert(key.into(), Value { bytes: value.into(), _room: room });
        Ok(())
    }

    /// Takes room. Where there is none, memory that this thread has given up and nobody reads any
    /// more is freed first: otherwise it would wait for more of its kind, which a full store does
    /// not bring.
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

    /// Lends the pairs from `from` on to `visit`, in ascending order of their keys, until `items`
    /// of them were lent, `visit` returns false, or there are no more; returns how many `visit`
    /// accepted.
    ///
    /// Each pair is one that was there during the scan; pairs that are stored or removed meanwhile
    /// may be among them or not.
    #[inline]
    pub fn scan(&self, from: &[u8], items: usize, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let pairs = self.map.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        pairs.take(items).take_while(|entry| visit(entry.key(), &entry.value().bytes)).count()
    }

    /// Pairs in the store; while others write, about.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// What the items take, and those whose memory is not freed yet.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.budget.used_bytes()
    }
}
