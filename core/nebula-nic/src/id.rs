//! Identifiers: nodes, transfers, cores, slots. Each has its own type; none is a bare integer.

use core::fmt;

/// A node that sends RPCs: the *snid* of the papers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// One transfer of a node: the *tid*. Unique per node among its live transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(pub u32);

/// A core that serves RPCs, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(pub u16);

impl CoreId {
    /// The core's index in an array of cores.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A group of cores with one queue and one manager, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group's index in an array of groups.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A messaging domain: the nodes of one service, sharing one receive buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u16);

/// Bytes of one slot of the receive buffer: one cache block.
pub const SLOT_BYTES: u32 = 64;

/// A slot of the receive buffer, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// A run of slots that holds one RPC; it never wraps the end of the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    /// The first slot.
    pub start: Slot,
    /// How many slots.
    pub slots: u32,
}

impl SlotRange {
    /// The range of `slots` slots from `start`.
    #[must_use]
    pub const fn new(start: u32, slots: u32) -> Self {
        Self { start: Slot(start), slots }
    }

    /// Where the range begins, in bytes from the start of the buffer.
    #[must_use]
    #[inline]
    pub const fn offset_bytes(self) -> u64 {
        self.start.0 as u64 * SLOT_BYTES as u64
    }
}

impl fmt::Display for SlotRange {
    /// `start+slots`, as in `12+3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.start.0, self.slots)
    }
}

/// The identity of one RPC on the wire: source node and transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RpcKey {
    /// The node that sent the request.
    pub snid: NodeId,
    /// Its number for the transfer.
    pub tid: TransferId,
}

impl RpcKey {
    /// Both halves in one word, for hashing.
    #[must_use]
    #[inline]
    pub(crate) const fn to_bits(self) -> u64 {
        (self.snid.0 as u64) << 32 | self.tid.0 as u64
    }
}

impl fmt::Display for RpcKey {
    /// `snid.tid`, as in `3.17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.snid.0, self.tid.0)
    }
}
