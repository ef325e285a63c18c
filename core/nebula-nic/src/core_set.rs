//! A set of cores as a bitmap, with a fast search for its lowest member.
//!
//! Up to 64 cores are one word, up to 4,096 two levels: bit `i` of the top says that leaf `i` is
//! not empty. Two trailing-zero counts find the lowest core, and no scan grows with the number of
//! cores.

use crate::id::CoreId;
use alloc::boxed::Box;
use alloc::vec;

/// The most cores of one back end: 64 words of 64 bits.
pub const CORES_MAX: u16 = 64 * 64;

/// A set of cores.
#[derive(Clone, Debug)]
pub struct CoreSet {
    /// Without leaves, the set itself; otherwise, which leaves have members.
    top: u64,
    leaves: Box<[u64]>,
}

impl CoreSet {
    /// An empty set of cores below `cores`, at most [`CORES_MAX`].
    #[must_use]
    pub fn empty(cores: u16) -> Self {
        let leaves = if cores <= 64 { 0 } else { usize::from(cores).div_ceil(64) };
        Self { top: 0, leaves: vec![0; leaves].into() }
    }

    /// The set of all cores below `cores`.
    #[must_use]
    pub fn full(cores: u16) -> Self {
        let mut set = Self::empty(cores);
        for core in 0..cores {
            set.insert(CoreId(core));
        }
        set
    }

    /// The set of those of the first 64 cores whose bit is set.
    #[must_use]
    pub fn of_bits(bits: u64) -> Self {
        Self { top: bits, leaves: Box::default() }
    }

    /// One bit for each of the first 64 cores.
    #[must_use]
    #[inline]
    pub fn bits(&self) -> u64 {
        self.leaves.first().copied().unwrap_or(self.top)
    }

    /// Whether the set is empty.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// The core with the lowest number.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<CoreId> {
        if self.top == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 63")]
        let lowest = self.top.trailing_zeros() as u16;
        Some(CoreId(if self.leaves.is_empty() { lowest } else { self.first_in_leaf(lowest) }))
    }

    /// The core with the highest number.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<CoreId> {
        #[expect(clippy::cast_possible_truncation, reason = "at most 63")]
        let highest = |word: u64| 63 - word.leading_zeros() as u16;
        if self.top == 0 {
            return None;
        }
        let top = highest(self.top);
        let in_leaf = self.leaves.get(usize::from(top)).map(|&leaf| top * 64 + highest(leaf));
        Some(CoreId(in_leaf.unwrap_or(top)))
    }

    /// The first core from `from` on, wrapping around after the last.
    #[must_use]
    #[inline]
    pub fn first_from(&self, from: CoreId) -> Option<CoreId> {
        self.at_or_above(from).or_else(|| self.first())
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 63, or a leaf of at most 64")]
    fn at_or_above(&self, from: CoreId) -> Option<CoreId> {
        let above = |word: u64, bit: u16| {
            let rest = word >> bit;
            (rest != 0).then(|| bit + rest.trailing_zeros() as u16)
        };
        if self.leaves.is_empty() {
            return if from.0 < 64 { above(self.top, from.0).map(CoreId) } else { None };
        }
        let (leaf, bit) = (from.0 / 64, from.0 % 64);
        let word = *self.leaves.get(usize::from(leaf))?;
        if let Some(found) = above(word, bit) {
            return Some(CoreId(leaf * 64 + found));
        }
        let next = if leaf == 63 { None } else { above(self.top, leaf + 1) };
        next.map(|leaf| CoreId(self.first_in_leaf(leaf)))
    }

    #[cold]
    fn first_in_leaf(&self, leaf: u16) -> u16 {
        #[expect(clippy::cast_possible_truncation, reason = "a leaf named by the top is not empty: at most 63")]
        let lowest = self.leaves[usize::from(leaf)].trailing_zeros() as u16;
        leaf * 64 + lowest
    }

    /// Whether `core` is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, core: CoreId) -> bool {
        if self.leaves.is_empty() {
            return core.0 < 64 && self.top & bit(core) != 0;
        }
        self.leaves.get(core.index() / 64).is_some_and(|leaf| leaf & bit(core) != 0)
    }

    /// Adds `core`.
    #[inline]
    pub fn insert(&mut self, core: CoreId) {
        if self.leaves.is_empty() {
            self.top |= bit(core);
        } else {
            self.insert_in_leaf(core);
        }
    }

    /// Removes `core`.
    #[inline]
    pub fn remove(&mut self, core: CoreId) {
        if self.leaves.is_empty() {
            self.top &= !bit(core);
        } else {
            self.remove_from_leaf(core);
        }
    }

    fn insert_in_leaf(&mut self, core: CoreId) {
        let leaf = core.index() / 64;
        self.leaves[leaf] |= bit(core);
        self.top |= 1 << leaf;
    }

    fn remove_from_leaf(&mut self, core: CoreId) {
        let leaf = core.index() / 64;
        self.leaves[leaf] &= !bit(core);
        if self.leaves[leaf] == 0 {
            self.top &= !(1 << leaf);
        }
    }
}

#[inline]
const fn bit(core: CoreId) -> u64 {
    1 << (core.0 & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn sets_of_every_width_agree_with_a_tree() {
        for cores in [1, 2, 63, 64, 65, 100, 128, 4096] {
            let mut rng = crate::hash::Rng::new(u64::from(cores));
            let (mut set, mut model) = (CoreSet::empty(cores), BTreeSet::new());
            for _ in 0..2000 {
                let core = CoreId(u16::try_from(rng.below(u32::from(cores))).unwrap());
                if rng.below(2) == 0 {
                    set.insert(core);
                    model.insert(core);
                } else {
                    set.remove(core);
                    model.remove(&core);
                }
                assert_eq!(set.first(), model.first().copied());
                assert_eq!(set.last(), model.last().copied());
                assert_eq!(set.contains(core), model.contains(&core));
                assert_eq!(set.is_empty(), model.is_empty());
                let from = CoreId(u16::try_from(rng.below(u32::from(cores))).unwrap());
                let after = model.range(from..).next().or(model.first()).copied();
                assert_eq!(set.first_from(from), after);
            }
        }
    }

    #[test]
    fn a_full_set_empties_from_the_lowest_core_up() {
        let mut set = CoreSet::full(130);
        for core in 0..130 {
            assert_eq!(set.first(), Some(CoreId(core)));
            set.remove(CoreId(core));
        }
        assert_eq!(set.first(), None);
    }
}
