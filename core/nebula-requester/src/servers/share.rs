//! Which of the possible servers gets an RPC: by zone, weight, chance, load or key.

use super::{ServerSet, Servers};
use core::cmp::Ordering;
use nebula_nic::hash::mix;

/// Bits behind the point of a logarithm.
const FRACTION_BITS: u32 = 24;

impl Servers {
    /// The servers of `set` in the client's own zone; all of `set` if each of those is overloaded,
    /// or there is none.
    ///
    /// While all refuse, near servers still get their part of the RPCs: their answers show when
    /// they have room again.
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

    fn weights(&self, set: ServerSet) -> (u32, bool) {
        let weights = || self.members(set).map(|server| self.at(server).weight());
        (weights().sum(), weights().min() == weights().max())
    }

    /// The first of `set` from the next on or, if weights differ, the one furthest behind its
    /// share.
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

    /// Each pick owes every server its weight; the server owed most gets it and pays for all.
    fn furthest_behind(&mut self, set: ServerSet, all: u32) -> Option<u16> {
        for number in 0..self.count() {
            let server = &mut self.servers[usize::from(number)];
            // A server that could not get RPCs is owed nothing.
            server.turn = if set.contains(number) { server.turn + i64::from(server.weight()) } else { 0 };
        }
        let found = self.members(set).max_by_key(|&server| (self.at(server).turn, u16::MAX - server))?;
        self.servers[usize::from(found)].turn -= i64::from(all);
        Some(found)
    }

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
        // If that one would refuse it, any that would not is better.
        let with_room = self.members(set).filter(|&server| !self.at(server).is_full());
        with_room.min_by(|&a, &b| self.at(a).by_load(self.at(b))).or(Some(better))
    }

    /// The server of `set` for the key's hash: its share of the keys is its weight's share,
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
    // From 1 to 2, 63 bits behind the point: a square of 2 or more gives the logarithm a 1 bit.
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
