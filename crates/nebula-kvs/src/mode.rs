//! Whether a full store evicts or refuses.

/// What a store does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It evicts: a full bucket drops its oldest entry, and the log overwrites its oldest items. SET always succeeds.
    Cache,
    /// It refuses: a full bucket chains to extra buckets, and SET fails once these or the log are full. Nothing is
    /// lost.
    ///
    /// The log is filled once: the space of deleted items, and of values that were moved because they grew, is not
    /// reused.
    Store,
}
