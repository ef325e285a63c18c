//! `jbsq:N`: one queue, and at most N RPCs at a core, including the one in service.
//!
//! The head of the queue goes to the least loaded core with fewer than N outstanding, the lowest of
//! several: an idle core never waits behind a busy one.
//!
//! JBSQ(2) on up to 64 cores is two words, as in hardware: `idle` and `one` have one bit per core,
//! and a core with two RPCs is in neither. A dispatch flips the core's bit of `one` and clears that
//! of `idle`; a free moves its bit of `one` to `idle` and flips `one`. For another N, or more
//! cores, there is one bitmap for each number of outstanding RPCs below N.

use super::central::CentralDispatch;
use super::placement::{Placement, Queues};
use crate::arrival_queue::ArrivalQueue;
use crate::core_set::CoreSet;
use crate::id::CoreId;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::vec;

/// The largest N: with more credit than 64 per core, use a queue per core.
pub const JBSQ_BOUND_MAX: u32 = 64;

/// The cores by how many RPCs they have outstanding. Cost: JBSQ(2) on up to 64 cores: a few
/// instructions each, the same for any number of cores. Otherwise a pick reads at most N bitmaps,
/// and a dispatch or a free changes two.
///
/// Source: R2P2 for the rule, RPCValet and NEBULA for N = 2.
#[derive(Clone, Debug)]
pub struct Jbsq {
    idle: u64,
    one: u64,
    cores: u16,
    /// Used instead of the two words, for another N or more cores.
    levels: Option<Box<Levels>>,
}

impl Jbsq {
    /// All cores below `cores` idle, each with credit for `bound` RPCs.
    ///
    /// # Panics
    ///
    /// If `bound` is 0 or more than [`JBSQ_BOUND_MAX`].
    #[must_use]
    pub fn new(cores: u16, bound: u32) -> Self {
        assert!((1..=JBSQ_BOUND_MAX).contains(&bound), "jbsq has a bound from 1 to {JBSQ_BOUND_MAX}, not {bound}");
        let levels = if bound == 2 && cores <= 64 { None } else { Some(Box::new(Levels::new(cores, bound))) };
        let idle = if cores == 0 { 0 } else { u64::MAX >> (64 - cores.min(64)) };
        Self { idle, one: 0, cores, levels }
    }
}

impl CentralDispatch for Jbsq {
    fn queues(&self) -> Queues {
        Queues::Shared
    }

    #[inline]
    fn place(&mut self, _: &Header, _: &ArrivalQueue) -> Placement {
        Placement::Shared
    }

    #[inline]
    fn pick(&mut self) -> Option<CoreId> {
        if let Some(levels) = &self.levels {
            return levels.pick();
        }
        let cores = if self.idle == 0 { self.one } else { self.idle };
        if cores == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 63")]
        let lowest = cores.trailing_zeros() as u16;
        Some(CoreId(lowest))
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        if let Some(levels) = &mut self.levels {
            return levels.handle_dispatched(core);
        }
        let bit = 1 << (core.0 % 64);
        self.one ^= bit;
        self.idle &= !bit;
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        if let Some(levels) = &mut self.levels {
            return levels.handle_freed(core);
        }
        let bit = 1 << (core.0 % 64);
        self.idle |= self.one & bit;
        self.one ^= bit;
    }

    /// All that is kept of a core is how many RPCs it has outstanding: none, as before.
    #[inline]
    fn handle_served(&mut self, _core: CoreId) {}

    #[inline]
    fn outstanding(&self, core: CoreId) -> u32 {
        if let Some(levels) = &self.levels {
            return levels.outstanding(core);
        }
        let bit = 1 << (core.0 % 64);
        if core.0 >= self.cores || self.idle & bit != 0 { 0 } else { 2 - u32::from(self.one & bit != 0) }
    }

    #[inline]
    fn bound(&self) -> u32 {
        self.levels.as_ref().map_or(2, |levels| levels.bound())
    }
}

#[derive(Clone, Debug)]
struct Levels {
    /// `sets[i]`: the cores with exactly `i` outstanding.
    sets: Box<[CoreSet]>,
    outstanding: Box<[u8]>,
}

impl Levels {
    fn new(cores: u16, bound: u32) -> Self {
        let mut sets = vec![CoreSet::empty(cores); bound as usize];
        sets[0] = CoreSet::full(cores);
        Self { sets: sets.into(), outstanding: vec![0; usize::from(cores)].into() }
    }

    #[inline(never)]
    fn pick(&self) -> Option<CoreId> {
        self.sets.iter().find_map(CoreSet::first)
    }

    #[inline(never)]
    fn handle_dispatched(&mut self, core: CoreId) {
        let outstanding = &mut self.outstanding[core.index()];
        let level = usize::from(*outstanding);
        *outstanding += 1;
        self.sets[level].remove(core);
        if let Some(next) = self.sets.get_mut(level + 1) {
            next.insert(core);
        }
    }

    #[inline(never)]
    fn handle_freed(&mut self, core: CoreId) {
        let outstanding = &mut self.outstanding[core.index()];
        *outstanding -= 1;
        let level = usize::from(*outstanding);
        self.sets[level].insert(core);
        if let Some(before) = self.sets.get_mut(level + 1) {
            before.remove(core);
        }
    }

    #[inline(never)]
    fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding.get(core.index()).copied().map_or(0, u32::from)
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most JBSQ_BOUND_MAX")]
    fn bound(&self) -> u32 {
        self.sets.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_words_decide_as_the_levels_do() {
        let (mut words, mut levels) = (Jbsq::new(64, 2), Levels::new(64, 2));
        let mut rng = crate::hash::Rng::new(7);
        for _ in 0..20_000 {
            let core = CoreId(u16::try_from(rng.below(64)).unwrap());
            assert_eq!(words.outstanding(core), levels.outstanding(core));
            assert_eq!(words.pick(), levels.pick());
            if words.outstanding(core) > 0 && rng.below(2) == 0 {
                words.handle_freed(core);
                levels.handle_freed(core);
            } else if let Some(core) = levels.pick() {
                words.handle_dispatched(core);
                levels.handle_dispatched(core);
            }
        }
    }

    #[test]
    fn an_idle_core_is_picked_before_one_with_work() {
        let mut jbsq = Jbsq::new(3, 2);
        let mut picked = [CoreId(9); 6];
        for core in &mut picked {
            *core = jbsq.pick().unwrap();
            jbsq.handle_dispatched(*core);
        }
        assert_eq!(picked, [0, 1, 2, 0, 1, 2].map(CoreId));
        assert_eq!(jbsq.pick(), None);
        jbsq.handle_freed(CoreId(2));
        assert_eq!((jbsq.pick(), jbsq.outstanding(CoreId(2))), (Some(CoreId(2)), 1));
    }
}
