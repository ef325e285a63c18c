//! What a store has done so far.

use nebula_sys::mem::Pages;

/// Counts since the store began.
///
/// Each count is exact; taken while others use the store, they may be of slightly different moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Entries in the index. In [`Mode::Cache`](crate::Mode::Cache) some may point to items that the log has since overwritten;
    /// [`Store::items_live`](crate::Store::items_live) counts without them.
    pub items: u64,
    /// SETs of a key that had no item.
    pub inserted: u64,
    /// SETs that overwrote an item where it was.
    pub updated_in_place: u64,
    /// SETs that moved an item to the log's tail.
    pub appended: u64,
    /// DELETEs that found an item.
    pub deleted: u64,
    /// Entries given up: the oldest of a full bucket, or one whose item the log had overwritten.
    pub evicted: u64,
    /// Times that the log's tail came round to its start.
    pub log_wraps: u64,
    /// Extra buckets in use.
    pub extra_buckets_used: usize,
    /// The pages that the index got.
    pub index_pages: Pages,
    /// The pages that the log got.
    pub log_pages: Pages,
}
