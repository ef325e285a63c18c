//! Blocks moved to and from memory, by the caller's labels and by cause.

use std::ops::{Add, AddAssign, Sub};

use crate::block::{Block, LABELS, Label};

/// Why a block moved to or from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The NIC read or wrote a block that was not on the chip.
    NicFetch,
    /// A block that the NIC wrote last left the chip.
    NicWriteBack,
    /// A core read, or wrote a part of, a block that was not on the chip.
    CoreFetch,
    /// A block that a core wrote last left the chip.
    CoreWriteBack,
    /// A co-located stream past the caches.
    Stream,
}

impl Cause {
    /// All causes, in the order of a table's columns.
    pub const ALL: [Self; 5] = [Self::NicFetch, Self::NicWriteBack, Self::CoreFetch, Self::CoreWriteBack, Self::Stream];

    const fn index(self) -> usize {
        self as usize
    }
}

/// Blocks moved, by label and cause.
///
/// # Examples
///
/// ```
/// use nebula_memsys::{Cause, Label, Traffic};
///
/// let mut traffic = Traffic::default();
/// traffic.add(Label(2), Cause::NicFetch, 10);
/// assert_eq!(traffic.blocks(Label(2), Cause::NicFetch), 10);
/// assert_eq!((traffic.of_label(Label(2)), traffic.of_cause(Cause::Stream), traffic.bytes()), (10, 0, 640));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    blocks: [[u64; Cause::ALL.len()]; LABELS],
}

impl Traffic {
    /// Adds `blocks` to one cell.
    #[inline]
    pub const fn add(&mut self, label: Label, cause: Cause, blocks: u64) {
        self.blocks[label.index()][cause.index()] += blocks;
    }

    /// The blocks of one cell.
    #[must_use]
    pub const fn blocks(&self, label: Label, cause: Cause) -> u64 {
        self.blocks[label.index()][cause.index()]
    }

    /// All causes of one label.
    #[must_use]
    pub fn of_label(&self, label: Label) -> u64 {
        self.blocks[label.index()].iter().sum()
    }

    /// All labels of one cause.
    #[must_use]
    pub fn of_cause(&self, cause: Cause) -> u64 {
        self.blocks.iter().map(|causes| causes[cause.index()]).sum()
    }

    /// All blocks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.blocks.iter().flatten().sum()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.total() * u64::from(Block::BYTES)
    }

    fn zip(mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) -> Self {
        let cells = self.blocks.iter_mut().flatten().zip(other.blocks.iter().flatten());
        cells.for_each(|(mine, theirs)| *mine = merge(*mine, *theirs));
        self
    }
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(&other, |mine, theirs| mine + theirs)
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Blocks moved since an earlier reading.
impl Sub for Traffic {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.zip(&earlier, |mine, theirs| mine - theirs)
    }
}
