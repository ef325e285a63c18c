//! Counters of a service that stores items.

/// The counters of a store, for [`Description::store`](crate::Description::store). Those that a
/// service does not maintain stay 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounters {
    /// Lookups that found an item.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    /// Items stored, whether they replaced others or not.
    pub sets: u64,
    /// Items deleted by clients.
    pub deletes: u64,
    /// Items evicted to make room.
    pub evictions: u64,
    /// Items that expired.
    pub expired: u64,
    /// Items stored now.
    pub items: u64,
    /// Memory in use, in bytes.
    pub bytes_used: u64,
    /// Memory available for items, in bytes.
    pub bytes_max: u64,
}
