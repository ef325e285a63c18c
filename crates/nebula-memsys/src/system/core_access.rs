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
use crate::llc::SetId;

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
        let done = if self.l1s.touch(place, block) {
            self.store_held(asked_ps, core, set, block)
        } else {
            self.store_missed::<R>(asked_ps, core, place, set, block, fetched_for)?
        };
        self.own(done.at_ps, core, set, label);
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
        self.mesh.begin(asked_ps);
        let set = self.llc.set_of(block);
        let (home, to) = (self.mesh.home(set), self.mesh.core(core));
        let way_ps = self.mesh.way_ps(to, home);
        let at_home_ps = asked_ps + way_ps + self.llc_ps;
        let found = self.locate::<R>(at_home_ps, set, block, Agent::Core, Some(label))?;
        let at_ps = self.deliver(found, way_ps, home, to);
        let holder = Self::holder_with(&self.l1s, found.holder, core, block);
        self.llc.front_mut(set).hold(holder);
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
    fn store_held(&mut self, asked_ps: u64, core: u16, set: SetId, block: Block) -> Done {
        let line = self.llc.touch(set, block);
        debug_assert!(line.is_some(), "the last-level cache includes the L1s");
        let holder = line.map_or(Holder::Nobody, |meta| meta.holder());
        if holder == Holder::Core(core) {
            return Done { at_ps: asked_ps, level: Level::L1 };
        }
        let (home, to) = (self.mesh.home(set), self.mesh.core(core));
        let way_ps = self.mesh.way_ps(to, home);
        let at_home_ps = asked_ps + way_ps + self.llc_ps;
        let at_ps = self.invalidate(at_home_ps, way_ps, home, to, holder, block, Some(core));
        Done { at_ps, level: Level::Llc }
    }

    /// A store whose block is not in the core's L1.
    #[inline(always)]
    fn store_missed<R: Reach>(
        &mut self,
        asked_ps: u64,
        core: u16,
        place: Place,
        set: SetId,
        block: Block,
        fetched_for: Option<Label>,
    ) -> Option<Done> {
        let (home, to) = (self.mesh.home(set), self.mesh.core(core));
        let way_ps = self.mesh.way_ps(to, home);
        let at_home_ps = asked_ps + way_ps + self.llc_ps;
        let found = self.locate::<R>(at_home_ps, set, block, Agent::Core, fetched_for)?;
        let owned_ps = self.invalidate(at_home_ps, way_ps, home, to, found.holder, block, None);
        self.l1s.insert(place, block);
        if fetched_for.is_none() {
            return Some(Done { at_ps: owned_ps, level: found.level });
        }
        Some(Done { at_ps: self.deliver(found, way_ps, home, to).max(owned_ps), level: found.level })
    }

    /// Makes `core` the only holder and last writer of the front of `set`. The data are sent to the home bank at once:
    /// that loads the links as much as a later write-back would.
    #[inline(always)]
    fn own(&mut self, at_ps: u64, core: u16, set: SetId, label: Label) {
        let home = self.mesh.home(set);
        self.mesh.send(self.mesh.core(core), home, at_ps);
        self.llc.front_mut(set).own(core, label);
    }
}
