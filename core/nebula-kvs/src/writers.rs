//! The number of threads that write a store at a time.

/// Writers exclude one another by atomic read-modify-writes, each of which takes as long as dozens
/// of instructions. A single writer needs none; it publishes its writes to readers all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Any threads at once.
    Many,
    /// One thread at a time, which has the [`Partition`](crate::Partition).
    One,
}
