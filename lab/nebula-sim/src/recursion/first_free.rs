//! The first core to be free: a tournament in which each node keeps the loser.
//!
//! ```text
//!            3·2                     the first: key = time, then core, in one u64
//!            9·1                     at each node the later of the two that met there
//!       7·0       5·3
//!     [7·0 9·1] [3·2 5·3]
//! ```
//!
//! The winner begins the next RPC, and only its path up changes: at each node the later of the two
//! keys stays. The addresses on the path follow from the core, so no step waits for a load.
//!
//! # Source
//!
//! D. E. Knuth, "The Art of Computer Programming", vol. 3, 5.4.1: trees of losers.

/// When each core is free, and the one that is free first. [`replace`](Self::replace) takes
/// log2(cores) minima and maxima, and no branch or allocation.
#[derive(Clone, Debug)]
pub(super) struct FirstFree {
    /// Node 1 is the root, node `n` has the children `2n` and `2n + 1`; the cores' parents are
    /// last.
    losers: Box<[u64]>,
    winner: u64,
    core_bits: u32,
    latest_ps: u64,
}

impl FirstFree {
    pub(super) fn new(cores: u16) -> Self {
        let leaves = usize::from(cores).next_power_of_two();
        let core_bits = leaves.trailing_zeros();
        // A place without a core loses against every core.
        let leaf = |core: usize| if core < usize::from(cores) { core as u64 } else { u64::MAX };
        let mut winners = vec![0; leaves];
        winners.extend((0..leaves).map(leaf));
        let mut losers = vec![0; leaves];
        for node in (1..leaves).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], losers[node]) = (one.min(other), one.max(other));
        }
        Self { losers: losers.into(), winner: winners[1], core_bits, latest_ps: (u64::MAX >> core_bits) - 1 }
    }

    #[inline(always)]
    pub(super) fn first_ps(&self) -> u64 {
        self.winner >> self.core_bits
    }

    /// Makes the first core free at `at_ps` instead, or at the latest time that a key holds.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits hold a core, which is an index")]
    pub(super) fn replace(&mut self, at_ps: u64) {
        let core = self.winner as usize & (self.losers.len() - 1);
        let key = (at_ps.min(self.latest_ps) << self.core_bits) | core as u64;
        // The papers' numbers of cores: a fixed number of steps, without bounds checks.
        self.winner = if let Ok(losers) = <&mut [u64; 64]>::try_from(&mut *self.losers) {
            climb(losers, core, key)
        } else if let Ok(losers) = <&mut [u64; 16]>::try_from(&mut *self.losers) {
            climb(losers, core, key)
        } else {
            climb_any(&mut self.losers, core, key)
        };
    }
}

/// Takes a core's key up: the earlier of two keys goes on. Returns the key at the top.
#[inline(always)]
fn climb<const LEAVES: usize>(losers: &mut [u64; LEAVES], core: usize, mut key: u64) -> u64 {
    let mut node = (LEAVES + core) / 2;
    for _ in 0..LEAVES.ilog2() {
        let met = &mut losers[node % LEAVES];
        (key, *met) = (key.min(*met), key.max(*met));
        node /= 2;
    }
    key
}

/// The same for any number of leaves.
fn climb_any(losers: &mut [u64], core: usize, mut key: u64) -> u64 {
    let leaves = losers.len();
    let mut node = (leaves + core) / 2;
    while node > 0 {
        let met = &mut losers[node & (leaves - 1)];
        (key, *met) = (key.min(*met), key.max(*met));
        node /= 2;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn the_first_is_the_earliest_of_all() {
        let mut rng = Seed(6).stream("first free");
        for cores in [1, 2, 3, 16, 60, 64, 65, 1000] {
            let mut tree = FirstFree::new(cores);
            let mut model = vec![0; usize::from(cores)];
            for _ in 0..20_000 {
                let first = (0..model.len()).min_by_key(|&core| model[core]).unwrap();
                assert_eq!(tree.first_ps(), model[first], "{cores} cores");
                model[first] += rng.below(50);
                tree.replace(model[first]);
            }
        }
    }

    #[test]
    fn a_time_beyond_the_keys_range_is_the_latest() {
        for cores in [1, 3, 64] {
            let mut tree = FirstFree::new(cores);
            (0..cores).for_each(|_| tree.replace(u64::MAX));
            assert_eq!(tree.first_ps(), tree.latest_ps, "{cores} cores");
        }
    }
}
