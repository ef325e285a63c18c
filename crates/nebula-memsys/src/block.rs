//! What is asked of the memory system, and what it answers.

/// A cache block of [`Block::BYTES`] bytes: its address divided by 64. 32 bits reach 256 GB.
///
/// The last number, [`u32::MAX`], marks an empty line and is no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Block {
    /// Bytes of one block.
    pub const BYTES: u32 = 64;

    /// Where a set has no block.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The block that holds the byte at `address`; nothing past the last block.
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

/// Labels a caller can count traffic by; a [`Label`] is below it.
pub const LABELS: usize = 8;

/// What the caller counts an access under: a number below [`LABELS`] that means nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u8);

impl Label {
    /// The label's place in a table of [`LABELS`].
    ///
    /// # Panics
    ///
    /// If the label is not below [`LABELS`].
    #[must_use]
    pub const fn index(self) -> usize {
        assert!((self.0 as usize) < LABELS, "a label is below LABELS");
        self.0 as usize
    }

    /// The same as bits of a line.
    pub(crate) const fn code(self) -> u32 {
        assert!((self.0 as usize) < LABELS, "a label is below LABELS");
        self.0 as u32
    }
}

/// Who supplied a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The core's own L1.
    L1,
    /// The last-level cache; also where a block was allocated there without a fetch.
    Llc,
    /// The NIC's cache: three ways over the mesh for a core, none for the NIC itself.
    Nic,
    /// Memory.
    Dram,
}

/// When the agent has what it asked for, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Picoseconds on the caller's clock; never before the access.
    pub at_ps: u64,
    /// Who supplied the block.
    pub level: Level,
}
