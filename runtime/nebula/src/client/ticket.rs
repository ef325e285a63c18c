//! The number of an RPC at its client, and its end.

use super::error::CallError;
#[cfg(doc)]
use crate::config::client::ClientConfig;

/// The number of a submitted RPC.
///
/// The tickets of outstanding RPCs differ modulo [`ClientConfig::slots`], so that a table of that
/// size has a place for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The highest bit: that of a one-sided operation.
    pub(crate) const ONE_SIDED: u64 = 1 << 63;

    /// Whether it is that of a one-sided operation. An outstanding operation may equal an RPC
    /// modulo the slots.
    #[must_use]
    pub const fn is_one_sided(self) -> bool {
        self.0 & Self::ONE_SIDED != 0
    }
}

/// The end of an RPC. Each ticket gets exactly one.
#[derive(Debug)]
pub struct Completion<'c> {
    /// The RPC that ended.
    pub ticket: Ticket,
    /// Its reply, or why there is none.
    pub result: Result<&'c [u8], CallError>,
}
