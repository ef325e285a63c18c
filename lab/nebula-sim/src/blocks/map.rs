//! The memory map: consecutive regions of blocks.

use super::error::BlocksError;
use nebula_memsys::{Block, Label};

/// The parts of memory by which traffic and time are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Requests, as the NIC writes them and cores read them.
    Payload,
    /// Replies, as cores write them and the NIC reads them.
    Reply,
    /// The store's index.
    Index,
    /// The store's log, or the log of a replicated state machine.
    Log,
    /// State of a network function.
    State,
    /// Metadata of per-connection slots.
    Slots,
    /// Another program on the same machine.
    Hog,
}

impl Part {
    /// All parts, in the order of [`label`](Self::label).
    pub const ALL: [Self; 7] =
        [Self::Payload, Self::Reply, Self::Index, Self::Log, Self::State, Self::Slots, Self::Hog];

    /// The number of this part in the memory system's counters.
    #[must_use]
    pub const fn label(self) -> Label {
        Label(self as u8)
    }

    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Reply => "reply",
            Self::Index => "index",
            Self::Log => "log",
            Self::State => "state",
            Self::Slots => "slots",
            Self::Hog => "hog",
        }
    }
}

/// A range of consecutive blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Region {
    first: u32,
    pub(super) blocks: u32,
}

impl Region {
    #[inline]
    pub(super) const fn at(self, index: u32) -> Block {
        Block(self.first + index)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    next: u64,
}

impl Layout {
    pub(super) fn region(&mut self, what: &'static str, blocks: u64) -> Result<Region, BlocksError> {
        let end = self.next + blocks;
        match (u32::try_from(self.next), u32::try_from(blocks), u32::try_from(end)) {
            (Ok(first), Ok(blocks), Ok(_)) => {
                self.next = end;
                Ok(Region { first, blocks })
            }
            _ => Err(BlocksError::Room { what, blocks: end }),
        }
    }
}
