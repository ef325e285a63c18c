//! Accesses of a core.
//!
//! A miss goes from the core's L1 over the mesh to the block's home bank, to memory if the bank
//! misses too, and back. For a block in the NIC's cache only, the NIC replies to the core.
//!
//! Departs: NEBULA's Table II gives a non-inclusive directory and write-back L1s; here the
//! last-level cache includes the L1s and a store marks its line at once, so that a block dirty in
//! one L1 reaches another agent in two mesh traversals and not three.

use super::{Agent, MemorySystem, Reach, Way, found};
use crate::block::{Block, Done, Label, Level};
use crate::l1::{L1s, Place};
use crate::line::{Holder, Meta};
use crate::llc::{Line, SetId};
use crate::mesh::Mesh;

impl MemorySystem {
    /// Core `core` reads `block` into its L1.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    #[inline]
    pub fn load(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.load_within(now_ps, core, block, label, Reach::Anywhere))
    }

    /// [`load`](Self::load); of a block that is not within `reach`, it does nothing and returns
    /// `None`.
    ///
    /// # Panics
    ///
    /// As [`load`](Self::load).
    #[inline(always)]
    pub fn load_within(&mut self, now_ps: u64, core: u16, block: Block, label: Label, reach: Reach) -> Option<Done> {
        let asked_ps = now_ps + self.l1_ps;
        let place = self.l1s.place(core, block);
        if self.l1s.touch(place, block) {
            self.counters.cores.l1 += 1;
            return Some(Done { at_ps: asked_ps, level: Level::L1 });
        }
        let set = self.llc.set_of(block);
        if let Some(way) = self.llc.way_of(set, block) {
            return Some(self.load_found(asked_ps, core, set, block, way));
        }
        (reach == Reach::Anywhere).then(|| self.load_absent(asked_ps, core, set, block, label))
    }

    /// [`load`](Self::load) of `blocks` consecutive blocks before their use; returns when all are
    /// there.
    ///
    /// # Panics
    ///
    /// As [`load`](Self::load).
    pub fn prefetch_run(&mut self, now_ps: u64, core: u16, first: Block, blocks: u32, label: Label) -> u64 {
        let asked_ps = now_ps + self.l1_ps;
        let mut last_ps = now_ps;
        for block in (first.0..first.0 + blocks).map(Block) {
            let place = self.l1s.place(core, block);
            let at_ps = if self.l1s.touch(place, block) {
                self.counters.cores.l1 += 1;
                asked_ps
            } else {
                let set = self.llc.set_of(block);
                match self.llc.touch(set, block) {
                    Some((line, meta)) => self.load_line(asked_ps, core, place, set, block, line, meta).at_ps,
                    None => self.load_absent(asked_ps, core, set, block, label).at_ps,
                }
            };
            last_ps = last_ps.max(at_ps);
        }
        last_ps
    }

    /// Core `core` writes a part of `block`, which is fetched first unless it is on the chip.
    /// Returns when the core owns the block and its store can complete.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    pub fn store(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.write_within(now_ps, core, block, label, Needs::Data, Reach::Anywhere))
    }

    /// Core `core` writes all of `block`, which is allocated without a fetch unless it is on the
    /// chip. Returns when the core owns the block and its store can complete.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    pub fn overwrite(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.write_within(now_ps, core, block, label, Needs::Ownership, Reach::Anywhere))
    }

    /// [`store`](Self::store) or [`overwrite`](Self::overwrite) by `needs`; to a block that is not
    /// within `reach`, it does nothing and returns `None`.
    ///
    /// # Panics
    ///
    /// As [`store`](Self::store).
    #[inline(always)]
    pub fn write_within(
        &mut self,
        now_ps: u64,
        core: u16,
        block: Block,
        label: Label,
        needs: Needs,
        reach: Reach,
    ) -> Option<Done> {
        if let Some(way) = self.llc.way_of(self.llc.set_of(block), block) {
            return Some(self.write_found(now_ps, core, block, way, label, needs));
        }
        (reach == Reach::Anywhere).then(|| self.write_absent(now_ps, core, block, label, needs))
    }

    #[inline(never)]
    fn load_found(&mut self, asked_ps: u64, core: u16, set: SetId, block: Block, way: usize) -> Done {
        let (line, meta) = self.llc.touch_way(set, way);
        let place = self.l1s.place(core, block);
        self.load_line(asked_ps, core, place, set, block, line, meta)
    }

    /// [`load_found`](Self::load_found) of a line that has been found.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a core, a block, and where both are; inlined")]
    fn load_line(
        &mut self,
        asked_ps: u64,
        core: u16,
        place: Place,
        set: SetId,
        block: Block,
        line: Line,
        mut meta: Meta,
    ) -> Done {
        let way = Way::between(&self.mesh, Mesh::core(core), set);
        let ready_ps = asked_ps + way.ps + self.llc_ps;
        let holder = meta.holder();
        meta.hold(Self::holder_with(&self.l1s, holder, core, block));
        self.llc.set_meta(line, meta);
        self.l1s.insert(place, block);
        if holder == Holder::Nic {
            self.counters.cores.nic += 1;
            return Done { at_ps: self.forward(asked_ps, way, ready_ps), level: Level::Nic };
        }
        self.counters.cores.llc += 1;
        Done { at_ps: self.deliver(asked_ps, way, ready_ps), level: Level::Llc }
    }

    #[inline(never)]
    fn load_absent(&mut self, asked_ps: u64, core: u16, set: SetId, block: Block, label: Label) -> Done {
        let way = Way::between(&self.mesh, Mesh::core(core), set);
        let at_home_ps = asked_ps + way.ps + self.llc_ps;
        let ready_ps = self.allocate(at_home_ps, set, block, Meta::held(core), Agent::Core, Some(label));
        self.l1s.insert(self.l1s.place(core, block), block);
        self.counters.cores.dram += 1;
        Done { at_ps: self.deliver(asked_ps, way, ready_ps), level: Level::Dram }
    }

    /// The holder of a line after `core` got a copy; removes a holder whose L1 dropped its copy.
    #[inline(always)]
    fn holder_with(l1s: &L1s, holder: Holder, core: u16, block: Block) -> Holder {
        match holder {
            Holder::Several => Holder::Several,
            Holder::Core(other) if other != core && l1s.has(other, block) => Holder::Several,
            _ => Holder::Core(core),
        }
    }

    #[inline(never)]
    fn write_found(&mut self, now_ps: u64, core: u16, block: Block, way: usize, label: Label, needs: Needs) -> Done {
        let set = self.llc.set_of(block);
        let (line, meta) = self.llc.touch_way(set, way);
        self.llc.set_meta(line, Meta::owned(core, label));
        let way = Way::between(&self.mesh, Mesh::core(core), set);
        let place = self.l1s.place(core, block);
        let asked_ps = now_ps + self.l1_ps;
        let done = if self.l1s.touch(place, block) {
            self.write_held(asked_ps, core, way, block, meta.holder())
        } else {
            let done = self.write_missed(now_ps, way, block, meta.holder(), needs);
            // The invalidation removes what the directory says this core has.
            self.l1s.insert(place, block);
            done
        };
        self.own(now_ps, way, done)
    }

    /// A store to a block in the core's L1: waits for other L1s to drop it.
    #[inline(always)]
    fn write_held(&mut self, asked_ps: u64, core: u16, way: Way, block: Block, holder: Holder) -> Done {
        if holder == Holder::Core(core) {
            return Done { at_ps: asked_ps, level: Level::L1 };
        }
        let at_home_ps = asked_ps + way.ps + self.llc_ps;
        Done { at_ps: self.invalidate(at_home_ps, way, holder, block, Some(core)), level: Level::Llc }
    }

    #[inline(always)]
    fn write_missed(&mut self, now_ps: u64, way: Way, block: Block, holder: Holder, needs: Needs) -> Done {
        let at_home_ps = now_ps + self.l1_ps + way.ps + self.llc_ps;
        let owned_ps = self.invalidate(at_home_ps, way, holder, block, None);
        let level = if holder == Holder::Nic { Level::Nic } else { Level::Llc };
        let fetched_ps = match level {
            _ if needs == Needs::Ownership => 0,
            Level::Nic => self.forward(now_ps, way, at_home_ps),
            _ => self.deliver(now_ps, way, at_home_ps),
        };
        Done { at_ps: owned_ps.max(fetched_ps), level }
    }

    #[inline(never)]
    fn write_absent(&mut self, now_ps: u64, core: u16, block: Block, label: Label, needs: Needs) -> Done {
        let set = self.llc.set_of(block);
        let way = Way::between(&self.mesh, Mesh::core(core), set);
        let at_home_ps = now_ps + self.l1_ps + way.ps + self.llc_ps;
        let fetched_for = (needs == Needs::Data).then_some(label);
        let ready_ps = self.allocate(at_home_ps, set, block, Meta::owned(core, label), Agent::Core, fetched_for);
        self.l1s.insert(self.l1s.place(core, block), block);
        let owned_ps = at_home_ps + way.ps;
        let done = match needs {
            Needs::Ownership => Done { at_ps: owned_ps, level: Level::Llc },
            Needs::Data => Done { at_ps: owned_ps.max(self.deliver(now_ps, way, ready_ps)), level: Level::Dram },
        };
        self.own(now_ps, way, done)
    }

    #[inline(always)]
    fn deliver(&mut self, now_ps: u64, way: Way, ready_ps: u64) -> u64 {
        self.mesh.send(now_ps, way.ps, way.home, way.to, ready_ps)
    }

    /// Counts a store, whose data go to the home bank at once: the same load as a write-back.
    #[inline(always)]
    fn own(&mut self, now_ps: u64, way: Way, done: Done) -> Done {
        self.mesh.send(now_ps, way.ps, way.to, way.home, done.at_ps);
        self.counters.cores.count(done)
    }
}

/// The needs of a store before it completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The block's data: a part of it is written.
    Data,
    /// No other copy: all of it is written.
    Ownership,
}
