//! Which of the servers that may get an RPC gets it: by zone, by weight, by chance, by load, by
//! key.

use super::{ServerSet, Servers};
use core::cmp::Ordering;
use nebula_nic::hash::mix;

/// Bits behind the point of a logarithm.
const FRACTION_BITS: u32 = 24;

impl Servers {
    /// Of `set` those of the client's own zone, unless each of them has more than it can do, or
    /// none is there.
    ///
    /// While all are refusing, those near get their part of the RPCs still: by what they answer
    /// they are found to have room again.
    pub(super) fn preferred(&self, set: ServerSet) -> ServerSet {
        let of = |server: &u16| set.contains(*server);
        let is_near = |server: &u16| !self.at(*server).standing.is_far;
        if (0..self.count()).filter(of).all(|server| is_near(&server)) {
            return set;
        }
        let near = || (0..self.count()).filter(of).filter(is_near);
        if near().all(|server| self.at(server).is_nacking()) {
            return set;
        }
        let mut preferred = ServerSet::default();
        near().for_each(|server| preferred.insert(server));
        preferred
    }

    fn members(&self, set: ServerSet) -> impl Iterator<Item = u16> {
        (0..self.count()).filter(move |&server| set.contains(server))
    }

    /// All weights of `set`, and whether they are equal.
    fn weights(&self, set: ServerSet) -> (u32, bool) {
        let weights = || self.members(set).map(|server| self.at(server).weight());
        (weights().sum(), weights().min() == weights().max())
    }

    /// The first of `set` from the next one on, or the one that is furthest behind its share.
    pub(super) fn next_of(&mut self, set: ServerSet) -> Option<u16> {
        let (all, are_equal) = self.weights(set);
        if !are_equal {
            return self.furthest_behind(set, all);
        }
        let count = self.count();
        let found = (0..count).map(|step| (self.next + step) % count).find(|&server| set.contains(server))?;
        self.next = (found + 1) % count;
        Some(found)
    }

    /// Each is owed its weight a pick, and the one that is owed most pays for all.
    fn furthest_behind(&mut self, set: ServerSet, all: u32) -> Option<u16> {
        for number in 0..self.count() {
            let server = &mut self.servers[usize::from(number)];
            // Who could get none meanwhile is owed nothing for it.
            server.turn = if set.contains(number) { server.turn + i64::from(server.weight()) } else { 0 };
        }
        let found = self.members(set).max_by_key(|&server| (self.at(server).turn, u16::MAX - server))?;
        self.servers[usize::from(found)].turn -= i64::from(all);
        Some(found)
    }

    /// Any of `set`, by weight.
    pub(super) fn any_of(&mut self, set: ServerSet) -> Option<u16> {
        let (all, are_equal) = self.weights(set);
        if are_equal {
            let place = self.rng.below(set.0.count_ones().max(1));
            return self.members(set).nth(place as usize);
        }
        let mut place = self.rng.below(all);
        self.members(set).find(|&server| {
            let weight = self.at(server).weight();
            let is_here = place < weight;
            place = place.saturating_sub(weight);
            is_here
        })
    }

    pub(super) fn better_of_two(&mut self, set: ServerSet) -> Option<u16> {
        let one = self.any_of(set)?;
        let Some(other) = self.any_of(ServerSet(set.0 & !(1 << one))) else { return Some(one) };
        let better = if self.at(other).by_load(self.at(one)) == Ordering::Less { other } else { one };
        if !self.at(better).is_full() {
            return Some(better);
        }
        // Where that one would refuse it, any that would not is better.
        let with_room = self.members(set).filter(|&server| !self.at(server).is_full());
        with_room.min_by(|&a, &b| self.at(a).by_load(self.at(b))).or(Some(better))
    }

    /// The one of `set` that the key's hash says: its keys are the part of all that its weight is,
    /// whatever other servers there are.
    pub(super) fn best_for(&self, key_hash: u32, set: ServerSet) -> Option<u16> {
        let hash = |server: u16| mix(self.at(server).name.unwrap_or(0) ^ mix(key_hash.into()));
        if self.weights(set).1 {
            return self.members(set).max_by_key(|&server| hash(server));
        }
        // The smallest -log(hash) / weight of hashes between 0 and 1.
        let rank = |server: u16| (rarity(hash(server)), u64::from(self.at(server).weight()), hash(server));
        self.members(set).min_by(|&a, &b| {
            let ((a, a_weight, a_hash), (b, b_weight, b_hash)) = (rank(a), rank(b));
            (a * b_weight).cmp(&(b * a_weight)).then(b_hash.cmp(&a_hash))
        })
    }
}

/// -log2(`hash` / 2^64), with [`FRACTION_BITS`] bits behind the point: in whole numbers, so that
/// all machines agree.
fn rarity(hash: u64) -> u64 {
    let hash = hash | 1;
    let whole = u64::from(hash.leading_zeros()) + 1;
    // From 1 to 2, with 63 bits behind the point: the square of one of 2 and more has another bit
    // of the logarithm.
    let mut rest = hash << hash.leading_zeros();
    let mut fraction = 0;
    for _ in 0..FRACTION_BITS {
        let square = (u128::from(rest) * u128::from(rest)) >> 63;
        let is_two = square >> 64 != 0;
        fraction = fraction << 1 | u64::from(is_two);
        #[expect(clippy::cast_possible_truncation, reason = "below 2^64 in either case")]
        let kept = (square >> u32::from(is_two)) as u64;
        rest = kept;
    }
    (whole << FRACTION_BITS) - fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rarity_is_the_logarithm() {
        let one = 1 << FRACTION_BITS;
        assert_eq!([1 << 63, 1 << 62, 1 << 32, 1].map(rarity), [one, 2 * one, 32 * one, 64 * one]);
        // -log2(3/4) = 0.41503749…
        let quarters = rarity(3 << 62);
        assert!(quarters.abs_diff(6_963_174) <= 2, "{quarters}");
        assert!(rarity(u64::MAX) <= 1 && rarity(0) == rarity(1));
    }
}
