//! A co-located application that only moves memory.

use super::MemorySystem;
use crate::block::{Block, Done, Label, Level};
use crate::traffic::Cause;

impl MemorySystem {
    /// Reads or writes `block`, past the caches. A write returns when the channel accepts it: a
    /// caller that waits never has more writes outstanding than the write queue holds.
    ///
    /// # Panics
    ///
    /// If the label does not exist.
    pub fn stream(&mut self, now_ps: u64, block: Block, label: Label, is_write: bool) -> Done {
        self.traffic.add(label, Cause::Stream, 1);
        let at_ps = now_ps + self.dram_path_ps;
        let at_ps = if is_write { self.dram.write(at_ps, block) } else { self.dram.read(at_ps, block) };
        Done { at_ps, level: Level::Dram }
    }
}
