//! Accesses of the NIC: packets written, replies read.
//!
//! The NIC is at the edge of the chip and has a small cache. A packet that it wrote stays there until a core touches
//! it, or goes to the bank at once (`nic_forwards`). In both cases the line is allocated in the last-level cache and is
//! dirty there, so its eviction costs a write to memory.
//!
//! Departs: the NIC's cache has no capacity limit here; it always forwards a packet that no core has touched.

use super::{Agent, Anywhere, MemorySystem, OnChip, Reach, found};
use crate::block::{Block, Done, Label, Level};
use crate::line::{Holder, Writer};

impl MemorySystem {
    /// The NIC writes all of `block`, and allocates it in the last-level cache.
    ///
    /// A miss fetches the block first if the description says so. Returns when the write is ordered: a core that is
    /// notified then sees it.
    ///
    /// # Panics
    ///
    /// If the label does not exist.
    pub fn nic_write(&mut self, now_ps: u64, block: Block, label: Label) -> Done {
        found(self.nic_write_within::<Anywhere>(now_ps, block, label))
    }

    /// As [`nic_write`](Self::nic_write) if `block` is on the chip; otherwise does nothing and returns `None`.
    ///
    /// # Panics
    ///
    /// As [`nic_write`](Self::nic_write).
    pub fn try_nic_write(&mut self, now_ps: u64, block: Block, label: Label) -> Option<Done> {
        self.nic_write_within::<OnChip>(now_ps, block, label)
    }

    fn nic_write_within<R: Reach>(&mut self, now_ps: u64, block: Block, label: Label) -> Option<Done> {
        self.mesh.begin(now_ps);
        let set = self.llc.set_of(block);
        let home = self.mesh.home(set);
        if !R::ALLOCATES && !self.nic_forwards && !self.llc.has(set, block) {
            // Before its link is reserved.
            return None;
        }
        let way_ps = self.mesh.way_ps(self.mesh.nic(), home);
        let at_bank_ps = if self.nic_forwards {
            now_ps + way_ps
        } else {
            self.mesh.send_over(way_ps, self.mesh.nic(), home, now_ps)
        };
        let at_home_ps = at_bank_ps + self.llc_ps;
        let fetched_for = self.nic_write_fetches.then_some(label);
        let found = self.locate::<R>(at_home_ps, set, block, Agent::Nic, fetched_for)?;
        let done = match found.level {
            // The NIC's cache has the only copy.
            Level::Nic => Done { at_ps: self.use_nic_cache(now_ps, now_ps), level: Level::Nic },
            level => {
                let owned_ps = self.invalidate(at_home_ps, way_ps, home, self.mesh.nic(), found.holder, block, None);
                let fetched_ps = if level == Level::Dram {
                    self.deliver(now_ps, found, way_ps, home, self.mesh.nic())
                } else {
                    owned_ps
                };
                if self.nic_forwards {
                    self.use_nic_cache(now_ps, now_ps);
                }
                Done { at_ps: owned_ps.max(fetched_ps), level }
            }
        };
        let holder = if self.nic_forwards { Holder::Nic } else { Holder::Nobody };
        let meta = self.llc.meta_mut(found.line);
        meta.hold(holder);
        meta.dirty(Writer::Nic, label);
        Some(self.counters.nic.count(done))
    }

    /// The NIC reads `block`, to send it. A miss reads memory and allocates nothing.
    ///
    /// # Panics
    ///
    /// If the label does not exist.
    pub fn nic_read(&mut self, now_ps: u64, block: Block, label: Label) -> Done {
        self.nic_read_block(now_ps, block, label)
    }

    /// As [`nic_read`](Self::nic_read) of `blocks` consecutive blocks at the same time; returns when it has the last of them.
    ///
    /// # Panics
    ///
    /// As [`nic_read`](Self::nic_read).
    pub fn nic_read_run(&mut self, now_ps: u64, first: Block, blocks: u32, label: Label) -> u64 {
        let each = first.0..first.0 + blocks;
        each.fold(now_ps, |last_ps, block| self.nic_read_block(now_ps, Block(block), label).at_ps.max(last_ps))
    }

    #[inline(always)]
    fn nic_read_block(&mut self, now_ps: u64, block: Block, label: Label) -> Done {
        self.mesh.begin(now_ps);
        let set = self.llc.set_of(block);
        let home = self.mesh.home(set);
        let way_ps = self.mesh.way_ps(self.mesh.nic(), home);
        let at_home_ps = now_ps + way_ps + self.llc_ps;
        let (level, ready_ps) = match self.llc.touch(set, block).map(|line| self.llc.meta(line).holder()) {
            Some(Holder::Nic) => {
                let at_ps = self.use_nic_cache(now_ps, now_ps);
                return self.counters.nic.count(Done { at_ps, level: Level::Nic });
            }
            Some(_) => (Level::Llc, at_home_ps),
            None => (Level::Dram, self.fetch(at_home_ps, block, Agent::Nic, label)),
        };
        let at_ps = self.mesh.send_over(way_ps, home, self.mesh.nic(), ready_ps);
        self.counters.nic.count(Done { at_ps, level })
    }
}
