//! What a service that stores things says of them.

/// What a service says of what it stores, in [`Service::store`](crate::Service::store). What a
/// service does not count stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounters {
    /// Lookups that found an item.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    /// Items stored, whether new or over others.
    pub sets: u64,
    /// Items taken away by their users.
    pub deletes: u64,
    /// Items that made room for others.
    pub evictions: u64,
    /// Items whose time was over.
    pub expired: u64,
    /// Items that there are.
    pub items: u64,
    /// Memory in use, in bytes.
    pub bytes_used: u64,
    /// Memory that there is for items, in bytes.
    pub bytes_max: u64,
}
