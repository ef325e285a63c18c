//! How many threads write a store at a time.

/// Writers exclude one another by atomic read-modify-writes, each of which takes as long as dozens
/// of instructions. One writer alone needs none of them; readers are told of its writes as of those
/// of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Any threads at once.
    Many,
    /// One thread at a time: that which has the [`Partition`](crate::Partition).
    One,
}
