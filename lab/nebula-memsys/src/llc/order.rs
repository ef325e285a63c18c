//! The ways of a set by last use: sixteen numbers of four bits in one word, the latest lowest.
//!
//! ```text
//!   oldest                                newest
//!   f e d c b a 9 8 7 6 5 4 3 2 1 0              way 5 is used: what is below it moves up by one
//!   f e d c b a 9 8 7 6 4 3 2 1 0 5
//! ```

use crate::config::WAYS_MAX;

pub(super) const ROOM: usize = WAYS_MAX as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order(u64);

const _: () = assert!(ROOM * 4 == u64::BITS as usize, "four bits name one of sixteen ways");

const ONES: u64 = 0x1111_1111_1111_1111;

impl Order {
    /// As if the ways were used from the highest to the lowest.
    pub(super) const BY_WAY: Self = Self(0xfedc_ba98_7654_3210);

    #[inline(always)]
    pub(super) const fn first(self) -> usize {
        (self.0 & 0xf) as usize
    }

    #[inline(always)]
    pub(super) const fn use_way(&mut self, way: usize) {
        // That way's number becomes 0, and the lowest 0 has no borrow below it.
        let others = self.0 ^ (ONES * way as u64);
        let zeros = others.wrapping_sub(ONES) & !others & (ONES << 3);
        self.make_first(zeros.trailing_zeros() & !3, way);
    }

    /// Uses the oldest of the first `all` ways if below `ways`, else the oldest below; returns it.
    #[inline(always)]
    pub(super) fn replace(&mut self, all: usize, ways: usize) -> usize {
        if all == ROOM && ways >= ROOM {
            // All move up by one, and the oldest comes first.
            self.0 = self.0.rotate_left(4);
            return self.first();
        }
        let age = if ways >= all { all - 1 } else { self.oldest_below(all, ways) };
        let way = self.at(age);
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        self.make_first(4 * age as u32, way);
        way
    }

    #[inline(always)]
    const fn at(self, age: usize) -> usize {
        ((self.0 >> (4 * (age % ROOM))) & 0xf) as usize
    }

    fn oldest_below(self, all: usize, ways: usize) -> usize {
        (0..all).rev().find(|&age| self.at(age) < ways).unwrap_or(all - 1)
    }

    #[inline(always)]
    const fn make_first(&mut self, bit: u32, way: usize) {
        let through = (0x10_u64 << bit).wrapping_sub(1);
        self.0 = (self.0 & !through) | ((self.0 << 4) & through) | way as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn the_order_is_that_of_a_list() {
        let mut rng = Seed(3).stream("order");
        for (all, ways) in [(16, 16), (16, 2), (12, 12), (12, 5), (2, 2), (1, 1)] {
            let (mut order, mut list) = (Order::BY_WAY, (0..all).collect::<Vec<usize>>());
            for _ in 0..2000 {
                let is_hit = rng.below(2) == 0;
                let age = if is_hit {
                    usize::try_from(rng.below(all as u64)).unwrap()
                } else {
                    list.iter().rposition(|&way| way < ways).unwrap()
                };
                let way = list.remove(age);
                list.insert(0, way);
                if is_hit {
                    order.use_way(way);
                } else {
                    assert_eq!(order.replace(all, ways), way);
                }
                assert_eq!((0..all).map(|age| order.at(age)).collect::<Vec<_>>(), list, "{ways} of {all} ways");
                assert_eq!(order.first(), list[0]);
            }
        }
    }
}
