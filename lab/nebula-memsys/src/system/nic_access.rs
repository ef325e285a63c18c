//! Accesses of the NIC: packets written, replies read.
//!
//! The NIC is at the chip's edge and has a small cache. A packet that it wrote stays there until a
//! core touches it, or goes to the bank at once (`nic_forwards`). Either way the last-level cache
//! has a dirty line, whose eviction costs a write to memory.
//!
//! Departs: the NIC's cache has no capacity limit here; it always forwards a packet that no core
//! has touched.

use super::{Agent, MemorySystem, Reach, Way, found};
use crate::block::{Block, Done, Label, Level};
use crate::line::{Holder, Meta};
use crate::llc::SetId;

impl MemorySystem {
    /// The NIC writes all of `block` and allocates it in the last-level cache; a miss fetches it
    /// first if the description says so. Returns when a core that is notified would see the write.
    ///
    /// # Panics
    ///
    /// If the label does not exist.
    pub fn nic_write(&mut self, now_ps: u64, block: Block, label: Label) -> Done {
        found(self.nic_write_within(now_ps, block, label, Reach::Anywhere))
    }

    /// [`nic_write`](Self::nic_write); of a block that is not within `reach`, it does nothing and
    /// returns `None`.
    ///
    /// # Panics
    ///
    /// As [`nic_write`](Self::nic_write).
    pub fn nic_write_within(&mut self, now_ps: u64, block: Block, label: Label, reach: Reach) -> Option<Done> {
        let set = self.llc.set_of(block);
        let Some((line, meta)) = self.llc.touch(set, block) else {
            return (reach == Reach::Anywhere).then(|| self.nic_write_absent(now_ps, set, block, label));
        };
        self.llc.set_meta(line, Meta::received(self.nic_forwards, label));
        if meta.holder() == Holder::Nic {
            let at_ps = self.use_nic_cache(now_ps, now_ps);
            self.counters.nic.nic += 1;
            return Some(Done { at_ps, level: Level::Nic });
        }
        let way = self.nic_way(set);
        let at_home_ps = self.nic_sends(now_ps, way);
        let at_ps = self.invalidate(at_home_ps, way, meta.holder(), block, None);
        self.counters.nic.llc += 1;
        Some(Done { at_ps, level: Level::Llc })
    }

    #[inline(never)]
    fn nic_write_absent(&mut self, now_ps: u64, set: SetId, block: Block, label: Label) -> Done {
        let way = self.nic_way(set);
        let at_home_ps = self.nic_sends(now_ps, way);
        let fetched_for = self.nic_write_fetches.then_some(label);
        let meta = Meta::received(self.nic_forwards, label);
        let ready_ps = self.allocate(at_home_ps, set, block, meta, Agent::Nic, fetched_for);
        let owned_ps = at_home_ps + way.ps;
        let done = match fetched_for {
            None => Done { at_ps: owned_ps, level: Level::Llc },
            Some(_) => Done {
                at_ps: owned_ps.max(self.mesh.send_to_nic(now_ps, way.ps, way.home, ready_ps)),
                level: Level::Dram,
            },
        };
        self.counters.nic.count(done)
    }

    #[inline(always)]
    fn nic_way(&self, set: SetId) -> Way {
        Way::between(&self.mesh, self.mesh.nic(), set)
    }

    /// The NIC writes a block into its cache or its bank; returns when the bank knows.
    #[inline(always)]
    fn nic_sends(&mut self, now_ps: u64, way: Way) -> u64 {
        let at_bank_ps = if self.nic_forwards {
            self.use_nic_cache(now_ps, now_ps);
            now_ps + way.ps
        } else {
            self.mesh.send_from_nic(now_ps, way.ps, way.home, now_ps)
        };
        at_bank_ps + self.llc_ps
    }

    /// The NIC reads `block`, to send it. A miss reads memory and allocates nothing.
    ///
    /// # Panics
    ///
    /// If the label does not exist.
    pub fn nic_read(&mut self, now_ps: u64, block: Block, label: Label) -> Done {
        self.nic_read_block(now_ps, block, label)
    }

    /// [`nic_read`](Self::nic_read) of `blocks` consecutive blocks; returns when it has the last.
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
        let set = self.llc.set_of(block);
        let Some((_, meta)) = self.llc.touch(set, block) else {
            return self.nic_read_absent(now_ps, set, block, label);
        };
        if meta.holder() == Holder::Nic {
            let at_ps = self.use_nic_cache(now_ps, now_ps);
            self.counters.nic.nic += 1;
            return Done { at_ps, level: Level::Nic };
        }
        let way = self.nic_way(set);
        self.counters.nic.llc += 1;
        let ready_ps = now_ps + way.ps + self.llc_ps;
        Done { at_ps: self.mesh.send_to_nic(now_ps, way.ps, way.home, ready_ps), level: Level::Llc }
    }

    #[inline(never)]
    fn nic_read_absent(&mut self, now_ps: u64, set: SetId, block: Block, label: Label) -> Done {
        let way = self.nic_way(set);
        let ready_ps = self.fetch(now_ps + way.ps + self.llc_ps, block, Agent::Nic, label);
        self.counters.nic.dram += 1;
        Done { at_ps: self.mesh.send_to_nic(now_ps, way.ps, way.home, ready_ps), level: Level::Dram }
    }
}
