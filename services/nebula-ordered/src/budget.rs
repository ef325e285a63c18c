//! The bound on a store's memory: an item counts until its memory is freed, even after it was
//! replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The store has no room for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an item of {item_bytes} bytes does not fit: {used_bytes} of {bytes_max} bytes are used")]
pub struct Full {
    /// Bytes of the item, with its overhead.
    pub item_bytes: u64,
    /// Bytes of all items then.
    pub used_bytes: u64,
    /// The bound.
    pub bytes_max: u64,
}

#[derive(Debug)]
pub(crate) struct Budget {
    used_bytes: AtomicU64,
    bytes_max: u64,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { used_bytes: AtomicU64::new(0), bytes_max })
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        // Relaxed: a figure; the map orders the items themselves.
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Reserves room for an item, which keeps it until it is dropped.
    pub(crate) fn take(self: &Arc<Self>, item_bytes: u64) -> Result<Room, Full> {
        let used_bytes = self.used_bytes.fetch_add(item_bytes, Ordering::Relaxed);
        // Created before the check, so that its drop returns the bytes.
        let room = Room { budget: Arc::clone(self), bytes: item_bytes };
        if used_bytes + item_bytes > self.bytes_max {
            return Err(Full { item_bytes, used_bytes, bytes_max: self.bytes_max });
        }
        Ok(room)
    }
}

/// An item's room.
#[derive(Debug)]
pub(crate) struct Room {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
