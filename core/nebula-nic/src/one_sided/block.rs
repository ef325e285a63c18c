//! The size of one operation on the wire.

/// The most bytes of an operation on the wire: a cache block, soNUMA's MTU. Clients split others.
pub const BLOCK_BYTES: u32 = crate::id::SLOT_BYTES;
