//! Counters of a store.

use nebula_sys::mem::Pages;

/// Counts since the store was created.
///
/// Each count is exact. While other threads use the store, the counts differ slightly in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Entries in the index. In [`Mode::Cache`](crate::Mode::Cache) some may point to items that
    /// the log has overwritten; [`Store::items_live`](crate::Store::items_live) excludes those.
    pub items: u64,
    /// SETs of a key that had no item.
    pub inserted: u64,
    /// SETs that overwrote an item in place.
    pub updated_in_place: u64,
    /// SETs that moved an item to the log's tail.
    pub appended: u64,
    /// DELETEs that found an item.
    pub deleted: u64,
    /// Entries evicted: the oldest of a full bucket, or one whose item the log had overwritten.
    pub evicted: u64,
    /// Items removed because they expired or were flushed, not those overwritten or evicted.
    pub expired: u64,
    /// Items carried over because they were read, with
    /// [`Eviction::Unread`](crate::Eviction::Unread).
    pub carried: u64,
    /// Bytes of the log, less those that a cache's index has taken over.
    pub log_bytes: usize,
    /// Bytes of the log that items have; of a cache whose log has wrapped, all.
    pub log_bytes_used: usize,
    /// Times that the log's tail has wrapped.
    pub log_wraps: u64,
    /// Extra buckets in use, those of a cache in its log.
    pub extra_buckets_used: usize,
    /// The pages that the index was granted.
    pub index_pages: Pages,
    /// The pages that the log was granted.
    pub log_pages: Pages,
}
