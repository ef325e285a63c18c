//! The requests and results of the memory system.

/// A cache block of [`Block::BYTES`] bytes, by its address divided by 64; 32 bits reach 256 GB. The
/// last number, [`u32::MAX`], marks an empty line and is no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Block {
    /// Bytes of one block.
    pub const BYTES: u32 = 64;

    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The block that holds the byte at `address`; `None` past the last block.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_memsys::Block;
    ///
    /// assert_eq!(Block::at(130), Some(Block(2)));
    /// assert_eq!(Block::at(1 << 40), None);
    /// ```
    #[must_use]
    pub fn at(address: u64) -> Option<Self> {
        let block = u32::try_from(address / u64::from(Self::BYTES)).ok()?;
        (block != Self::NONE.0).then_some(Self(block))
    }
}

/// The number of labels; a [`Label`] is below it.
pub const LABELS: usize = 8;

/// The label of an access, below [`LABELS`]; the caller chooses its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u8);

impl Label {
    /// The label's index in a table of [`LABELS`].
    ///
    /// # Panics
    ///
    /// If the label is not below [`LABELS`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        assert!((self.0 as usize) < LABELS, "a label is below LABELS");
        self.0 as usize
    }

    #[inline(always)]
    pub(crate) const fn code(self) -> u16 {
        assert!((self.0 as usize) < LABELS, "a label is below LABELS");
        self.0 as u16
    }
}

/// The component that supplied a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The core's own L1.
    L1,
    /// The last-level cache, also for a block allocated there without a fetch.
    Llc,
    /// The NIC's cache: three mesh traversals for a core, none for the NIC itself.
    Nic,
    /// Memory.
    Dram,
}

/// When the agent has the requested block, and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Picoseconds on the caller's clock; never before the access.
    pub at_ps: u64,
    /// The component that supplied the block.
    pub level: Level,
}
