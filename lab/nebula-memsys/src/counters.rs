//! Counters of supplied blocks, and of the row states that accesses to memory found.

use crate::block::{Done, Level};

/// Accesses of one kind of agent, by the component that supplied the block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Supplied {
    /// By the core's own L1.
    pub l1: u64,
    /// By the last-level cache, or allocated there without a fetch.
    pub llc: u64,
    /// By the NIC's cache.
    pub nic: u64,
    /// By memory.
    pub dram: u64,
}

impl Supplied {
    /// All accesses.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.l1 + self.llc + self.nic + self.dram
    }

    /// The share of accesses without memory; `None` without accesses.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    #[must_use]
    pub fn hit_ratio(self) -> Option<f64> {
        (self.total() > 0).then(|| 1.0 - self.dram as f64 / self.total() as f64)
    }

    #[inline]
    pub(crate) const fn count(&mut self, done: Done) -> Done {
        match done.level {
            Level::L1 => self.l1 += 1,
            Level::Llc => self.llc += 1,
            Level::Nic => self.nic += 1,
            Level::Dram => self.dram += 1,
        }
        done
    }
}

/// Accesses to memory and the row state they found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DramCounters {
    /// Blocks read.
    pub reads: u64,
    /// Blocks accepted for writing; some may still be queued.
    pub writes: u64,
    /// Accesses whose row was open.
    pub row_hits: u64,
    /// Accesses to a bank without an open row.
    pub row_closed: u64,
    /// Accesses to a bank with another row open.
    pub row_conflicts: u64,
    /// Turns of a bus from reads to writes or back.
    pub turnarounds: u64,
    /// Batches written because a write queue was full.
    pub full_batches: u64,
}

/// All counts since construction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses of the cores, excluding those of a co-located stream.
    pub cores: Supplied,
    /// Accesses of the NIC.
    pub nic: Supplied,
    /// Blocks allocated in the last-level cache without a fetch.
    pub unfetched: u64,
    /// Copies removed from an L1 because another agent wrote the block.
    pub invalidated: u64,
    /// Copies removed from an L1 because the block left the last-level cache.
    pub back_invalidated: u64,
    /// Memory.
    pub dram: DramCounters,
}
