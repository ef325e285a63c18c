//! The state of a core: its program, loads and stores.

use crate::blocks::machine::{Core, WINDOW_MAX, ps_of};
use crate::blocks::map::Part;
use crate::blocks::program::{Copying, Fill, Step};
use crate::blocks::world::event::reach;
use nebula_memsys::{Block, Done, MemorySystem, Needs};
use nebula_nic::{Frontend, Steering, Timestamp};

/// Entries of the rings of completion times.
pub(crate) const RING: usize = WINDOW_MAX as usize;

pub(crate) struct AtCore<'a> {
    pub(crate) frontend: Frontend,
    pub(crate) serving: Option<u32>,
    pub(crate) steps: &'a [Step],
    pub(crate) step: usize,
    /// The core's local time: it may be ahead of the run's.
    pub(crate) clock_ps: u64,
    /// In a copy loop: blocks loaded and stored, and when the last load was issued.
    pub(crate) loaded: u32,
    pub(crate) stored: u32,
    pub(crate) issued_ps: u64,
    /// Where it copies from and to, and when it makes the next load and the next store; [`NEVER`]
    /// if one waits for the other.
    pub(crate) from: Block,
    pub(crate) to: Block,
    pub(crate) load_ps: u64,
    pub(crate) store_ps: u64,
    pub(crate) copy_begun_ps: u64,
    pub(crate) loads_done_ps: u64,
    pub(crate) loads_ps: [u64; RING],
    /// When each of the last stores is done, over all RPCs.
    pub(crate) stores_ps: [u64; RING],
    pub(crate) stores: usize,
    /// For this RPC: when its last store is done, and what it stores to.
    pub(crate) last_store_ps: u64,
    pub(crate) last_store: Part,
}

impl AtCore<'_> {
    pub(crate) fn new(mut frontend: Frontend, steering: Steering) -> Self {
        frontend.set_steering(steering);
        Self {
            frontend,
            serving: None,
            steps: &[],
            step: 0,
            clock_ps: 0,
            loaded: 0,
            stored: 0,
            issued_ps: 0,
            from: Block(0),
            to: Block(0),
            load_ps: NEVER,
            store_ps: NEVER,
            copy_begun_ps: 0,
            loads_done_ps: 0,
            loads_ps: [0; RING],
            stores_ps: [0; RING],
            stores: 0,
            last_store_ps: 0,
            last_store: Part::Reply,
        }
    }

    /// When there is room for one more store: when the store `ago` before it is done.
    #[inline(always)]
    pub(crate) fn store_room_ps(&self, ago: usize) -> u64 {
        // Stores that a core has not made count as done.
        self.stores_ps[self.stores.wrapping_sub(ago) % RING]
    }

    #[inline]
    pub(crate) fn note_store(&mut self, done_ps: u64, part: Part) {
        self.stores_ps[self.stores % RING] = done_ps;
        self.stores += 1;
        if done_ps >= self.last_store_ps {
            (self.last_store_ps, self.last_store) = (done_ps, part);
        }
    }

    #[inline(always)]
    pub(crate) fn note_load(&mut self, at_ps: u64, done: Done) {
        self.loads_ps[self.loaded as usize % RING] = done.at_ps;
        self.loads_done_ps = self.loads_done_ps.max(done.at_ps);
        self.issued_ps = at_ps;
        self.loaded += 1;
    }

    /// When the next load of a copy loop is issued; [`NEVER`] if not before a store.
    #[inline(always)]
    pub(crate) fn next_load_ps(&self, copying: &Copying, limits: &Limits) -> u64 {
        // The following stores may need every time in the ring.
        let is_ring_full =
            self.loaded.wrapping_sub(self.stored) == WINDOW_MAX && (self.stored as usize) < copying.stores.len();
        if self.loaded == copying.loads || is_ring_full {
            return NEVER;
        }
        // Before the window is full, this is a load of an earlier loop, which is done.
        let full_until_ps = self.loads_ps[self.loaded.wrapping_sub(limits.load_window) as usize % RING];
        (self.issued_ps.wrapping_add(limits.issue_ps)).max(full_until_ps)
    }

    /// When the next store of a copy loop is issued; [`NEVER`] if not before a load.
    #[inline(always)]
    pub(crate) fn next_store_ps(&self, copying: &Copying, limits: &Limits) -> u64 {
        let stored = self.stored;
        if stored as usize == copying.stores.len() || (stored >= self.loaded && self.loaded < copying.loads) {
            return NEVER;
        }
        let behind = stored.min(copying.loads.saturating_sub(1));
        let loaded_ps = if copying.loads == 0 { self.copy_begun_ps } else { self.loads_ps[behind as usize % RING] };
        loaded_ps.max(self.store_room_ps(limits.stores_max))
    }
}

/// Loads a block, unless that has to wait for its time.
#[inline(always)]
pub(crate) fn load(
    memory: &mut MemorySystem,
    now: Timestamp,
    at_ps: u64,
    core: u16,
    block: Block,
    part: Part,
) -> Option<Done> {
    memory.load_within(at_ps, core, block, part.label(), reach(now, at_ps))
}

/// Stores to a block, unless that has to wait for its time.
#[inline(always)]
pub(crate) fn store(
    memory: &mut MemorySystem,
    now: Timestamp,
    at_ps: u64,
    core: u16,
    block: Block,
    part: Part,
    fill: Fill,
) -> Option<Done> {
    let needs = if fill == Fill::Whole { Needs::Ownership } else { Needs::Data };
    memory.write_within(at_ps, core, block, part.label(), needs, reach(now, at_ps))
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Loads of a copy loop, and the time between two.
    pub(crate) load_window: u32,
    pub(crate) issue_ps: u64,
    pub(crate) stores_max: usize,
}

impl Limits {
    pub(crate) fn of(core: &Core) -> Self {
        let Core { load_window, stores_max, .. } = *core;
        Self { load_window, issue_ps: ps_of(core.issue_ns), stores_max: stores_max as usize }
    }
}

pub(crate) const NEVER: u64 = u64::MAX;
