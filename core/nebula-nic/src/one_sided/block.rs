//! How long is one operation on the wire?

/// The most bytes of one operation on the wire: a cache block, soNUMA's MTU. Longer ones are cut by
/// the client.
pub const BLOCK_BYTES: u32 = crate::id::SLOT_BYTES;
