//! Accesses of a core.
//!
//! The path of a miss: the core's L1, the mesh to the block's home bank, the bank, memory if the bank misses too, and
//! back. A block whose only copy is in the NIC's cache comes from there: the home bank asks the NIC, and the NIC
//! replies to the core.
//!
//! Departs: NEBULA's Table II gives a non-inclusive directory and write-back L1s; here the last-level cache includes
//! the L1s and a store marks its line at once, so that a block dirty in one L1 reaches another agent in two mesh
//! traversals and not three.

use super::{Agent, Anywhere, MemorySystem, OnChip, Reach, found};
use crate::block::{Block, Done, Label, Level};
use crate::l1::{L1s, Place};
use crate::line::Holder;
use crate::llc::{Line, SetId};
use crate::mesh::{End, Mesh};

impl MemorySystem {
    /// Core `core` reads `block` into its L1.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    #[inline]
    pub fn load(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.load_within::<Anywhere>(now_ps, core, block, label))
    }

    /// As [`load`](Self::load) if `block` is on the chip; otherwise does nothing and returns `None`.
    ///
    /// # Panics
    ///
    /// As [`load`](Self::load).
    #[inline]
    pub fn try_load(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Option<Done> {
        self.load_within::<OnChip>(now_ps, core, block, label)
    }

    #[inline]
    fn load_within<R: Reach>(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Option<Done> {
        let asked_ps = now_ps + self.l1_ps;
        let place = self.l1s.place(core, block);
        if self.l1s.touch(place, block) {
            self.counters.cores.l1 += 1;
            return Some(Done { at_ps: asked_ps, level: Level::L1 });
        }
        self.load_shared::<R>(asked_ps, core, place, block, label)
    }

    /// Core `core` reads `block` into its L1 before its use: as [`load`](Self::load), but the caller need not wait for
    /// it.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    #[inline]
    pub fn prefetch(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        self.load(now_ps, core, block, label)
    }

    /// As [`prefetch`](Self::prefetch) of `blocks` consecutive blocks at the same time; returns when the L1 has the last of them.
    ///
    /// # Panics
    ///
    /// As [`prefetch`](Self::prefetch).
    pub fn prefetch_run(&mut self, now_ps: u64, core: u16, first: Block, blocks: u32, label: Label) -> u64 {
        let asked_ps = now_ps + self.l1_ps;
        let mut last_ps = now_ps;
        for block in (first.0..first.0 + blocks).map(Block) {
            let place = self.l1s.place(core, block);
            let done = if self.l1s.touch(place, block) {
                self.counters.cores.count(Done { at_ps: asked_ps, level: Level::L1 })
            } else {
                found(self.load_missed::<Anywhere>(asked_ps, core, place, block, label))
            };
            last_ps = last_ps.max(done.at_ps);
        }
        last_ps
    }

    /// Core `core` writes a part of `block`; if the block is not on the chip, it is fetched first.
    ///
    /// Returns when the core owns the block and its store can complete.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    pub fn store(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.write::<Anywhere>(now_ps, core, block, label, Some(label)))
    }

    /// As [`store`](Self::store) if `block` is on the chip; otherwise does nothing and returns `None`.
    ///
    /// # Panics
    ///
    /// As [`store`](Self::store).
    pub fn try_store(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Option<Done> {
        self.write::<OnChip>(now_ps, core, block, label, Some(label))
    }

    /// Core `core` writes all of `block`; if the block is not on the chip, it is allocated without a fetch.
    ///
    /// Returns when the core owns the block and its store can complete.
    ///
    /// # Panics
    ///
    /// If the core or the label does not exist.
    pub fn overwrite(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Done {
        found(self.write::<Anywhere>(now_ps, core, block, label, None))
    }

    /// As [`overwrite`](Self::overwrite) if `block` is on the chip; otherwise does nothing and returns `None`.
    ///
    /// # Panics
    ///
    /// As [`overwrite`](Self::overwrite).
    pub fn try_overwrite(&mut self, now_ps: u64, core: u16, block: Block, label: Label) -> Option<Done> {
        self.write::<OnChip>(now_ps, core, block, label, None)
    }

    /// `fetched_for` is `None` if all of the block is written: the core then needs no data, only ownership.
    fn write<R: Reach>(
        &mut self,
        now_ps: u64,
        core: u16,
        block: Block,
        label: Label,
        fetched_for: Option<Label>,
    ) -> Option<Done> {
        self.mesh.begin(now_ps);
        let asked_ps = now_ps + self.l1_ps;
        let set = self.llc.set_of(block);
        let place = self.l1s.place(core, block);
        let way = Way::between(&self.mesh, core, set);
        let (line, done) = if self.l1s.touch(place, block) {
            self.store_held(asked_ps, core, way, set, block)
        } else {
            self.store_missed::<R>(now_ps, way, place, set, block, fetched_for)?
        };
        // The data are sent to the home bank at once: that loads the links as much as a later write-back would.
        self.mesh.send_over(way.ps, way.to, way.home, done.at_ps);
        self.llc.meta_mut(line).own(core, label);
        Some(self.counters.cores.count(done))
    }

    fn load_shared<R: Reach>(
        &mut self,
        asked_ps: u64,
        core: u16,
        place: Place,
        block: Block,
        label: Label,
    ) -> Option<Done> {
        self.load_missed::<R>(asked_ps, core, place, block, label)
    }

    /// A load whose block is not in the core's L1.
    #[inline(always)]
    fn load_missed<R: Reach>(
        &mut self,
        asked_ps: u64,
        core: u16,
        place: Place,
        block: Block,
        label: Label,
    ) -> Option<Done> {
        self.mesh.begin(asked_ps);
        let set = self.llc.set_of(block);
        let way = Way::between(&self.mesh, core, set);
        let at_home_ps = asked_ps + way.ps + self.llc_ps;
        let found = self.locate::<R>(at_home_ps, set, block, Agent::Core, Some(label))?;
        let at_ps = self.deliver(asked_ps, found, way.ps, way.home, way.to);
        let holder = Self::holder_with(&self.l1s, found.holder, core, block);
        self.llc.meta_mut(found.line).hold(holder);
        self.l1s.insert(place, block);
        Some(self.counters.cores.count(Done { at_ps, level: found.level }))
    }

    /// The holder of a line once `core` has a copy. A holder whose L1 has dropped its copy is removed here.
    #[inline(always)]
    fn holder_with(l1s: &L1s, holder: Holder, core: u16, block: Block) -> Holder {
        match holder {
            Holder::Several => Holder::Several,
            Holder::Core(other) if other != core && l1s.has(other, block) => Holder::Several,
            _ => Holder::Core(core),
        }
    }

    /// A store whose block is in the core's L1: at once if no other L1 has it, otherwise when the others have dropped
    /// it.
    fn store_held(&mut self, asked_ps: u64, core: u16, way: Way, set: SetId, block: Block) -> (Line, Done) {
        let Some(line) = self.llc.touch(set, block) else { unreachable!("the last-level cache includes the L1s") };
        let holder = self.llc.meta(line).holder();
        if holder == Holder::Core(core) {
            return (line, Done { at_ps: asked_ps, level: Level::L1 });
        }
        let at_home_ps = asked_ps + way.ps + self.llc_ps;
        let at_ps = self.invalidate(at_home_ps, way.ps, way.home, way.to, holder, block, Some(core));
        (line, Done { at_ps, level: Level::Llc })
    }

    /// A store whose block is not in the core's L1.
    #[inline(always)]
    fn store_missed<R: Reach>(
        &mut self,
        now_ps: u64,
        way: Way,
        place: Place,
        set: SetId,
        block: Block,
        fetched_for: Option<Label>,
    ) -> Option<(Line, Done)> {
        let Way { home, to, ps: way_ps } = way;
        let at_home_ps = now_ps + self.l1_ps + way_ps + self.llc_ps;
        let found = self.locate::<R>(at_home_ps, set, block, Agent::Core, fetched_for)?;
        let owned_ps = self.invalidate(at_home_ps, way_ps, home, to, found.holder, block, None);
        self.l1s.insert(place, block);
        let at_ps =
            if fetched_for.is_none() { owned_ps } else { self.deliver(now_ps, found, way_ps, home, to).max(owned_ps) };
        Some((found.line, Done { at_ps, level: found.level }))
    }
}

/// From a core to the bank of a block, the same both ways.
#[derive(Clone, Copy)]
struct Way {
    home: End,
    to: End,
    ps: u64,
}

impl Way {
    #[inline(always)]
    fn between(mesh: &Mesh, core: u16, set: SetId) -> Self {
        let (home, to) = (mesh.home(set), mesh.core(core));
        Self { home, to, ps: mesh.way_ps(to, home) }
    }
}
