//! Whether a full store evicts or refuses.

/// The behavior of a full store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It evicts: the log overwrites its oldest items. SET always succeeds. Full buckets chain to
    /// extra ones, for which the index takes segments of the log, a quarter of it at most; a full
    /// chain of eight drops its oldest entry.
    Cache,
    /// It refuses: a full bucket chains to extra buckets, and SET fails once these or the log are
    /// full. Nothing is lost.
    ///
    /// The space of items that were deleted, have expired, or moved because they grew is reused,
    /// for items of any size once free neighbors are joined. Items do not move to make room: free
    /// space may be scattered in pieces too small for an item.
    Store,
}
