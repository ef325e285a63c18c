//! `jbsq:N`: one queue, and at most N RPCs at a core, the one in service included.
//!
//! The head of the queue goes to the least loaded core with fewer than N outstanding, the lowest of several: an idle core
//! never waits behind a busy one. A bitmap for each number of outstanding RPCs below N says which cores have that
//! many, so JBSQ(2), "idle" and "one", decides with two words and no comparison of counters.

use super::{CentralDispatch, Placement, Queues};
use crate::core_set::CoreSet;
use crate::id::CoreId;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::vec;

/// The largest N: more credit than 64 a core is a queue a core.
pub const JBSQ_BOUND_MAX: u32 = 64;

/// The cores by how many RPCs they have outstanding.
///
/// # Cost
///
/// A pick looks at N words at most, a dispatch or a free changes two; the same for any number of cores up to 64, and
/// twice the words up to 4,096.
///
/// # Source
///
/// R2P2 for the rule, RPCValet and NEBULA for N = 2.
#[derive(Clone, Debug)]
pub struct Jbsq {
    /// `levels[i]`: the cores with exactly `i` outstanding.
    levels: Box<[CoreSet]>,
    outstanding: Box<[u8]>,
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
        let mut levels = vec![CoreSet::empty(cores); bound as usize];
        levels[0] = CoreSet::full(cores);
        Self { levels: levels.into(), outstanding: vec![0; usize::from(cores)].into() }
    }
}

impl CentralDispatch for Jbsq {
    fn queues(&self) -> Queues {
        Queues::Shared
    }

    #[inline]
    fn place(&mut self, _: &Header) -> Placement {
        Placement::Shared
    }

    #[inline]
    fn pick(&mut self) -> Option<CoreId> {
        self.levels.iter().find_map(CoreSet::first)
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        let outstanding = &mut self.outstanding[core.index()];
        let level = usize::from(*outstanding);
        *outstanding += 1;
        self.levels[level].remove(core);
        if let Some(next) = self.levels.get_mut(level + 1) {
            next.insert(core);
        }
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        let outstanding = &mut self.outstanding[core.index()];
        *outstanding -= 1;
        let level = usize::from(*outstanding);
        self.levels[level].insert(core);
        if let Some(before) = self.levels.get_mut(level + 1) {
            before.remove(core);
        }
    }

    #[inline]
    fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding.get(core.index()).copied().map_or(0, u32::from)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most JBSQ_BOUND_MAX")]
    fn bound(&self) -> u32 {
        self.levels.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
