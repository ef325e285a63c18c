//! Counts by value in cells that widen with the value: three significant digits at every scale.
//!
//! ```text
//! value     0 … 2047        2048 … 4095       4096 … 8191      …
//! width            1                  2                 4      …       1,024 cells each, 2,048 in the first row
//! ```
//!
//! The cells and the results are those of an HDR histogram of three digits from 1 to 2⁶³ - 1, as a
//! test checks. A record is one addition; that histogram's were a seventh of a run's instructions.

use crate::interval::cells::Cells;
use std::fmt;

/// Counts by value, to three significant digits.
#[derive(Clone, PartialEq)]
pub struct Distribution {
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
}

/// log2 of the cells of a row but the first, which has twice as many: three significant digits.
const HALF_BITS: u32 = 10;

/// The largest value, which also counts larger ones: 106 days in picoseconds.
const VALUE_MAX: u64 = (1 << 63) - 1;

const CELLS: usize = cell(VALUE_MAX) + 1;

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most 53 rows of 1,024 cells")]
const fn cell(value: u64) -> usize {
    let row = 63 - HALF_BITS - (value | ((2 << HALF_BITS) - 1)).leading_zeros();
    ((row as usize) << HALF_BITS) + (value >> row) as usize
}

/// The lowest value of a cell, and how many values it has.
const fn values(cell: usize) -> (u64, u64) {
    let row = (cell >> HALF_BITS).saturating_sub(1);
    let lowest = (cell - (row << HALF_BITS)) as u64;
    (lowest << row, 1 << row)
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; CELLS].into(), count: 0, sum: 0 }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[cell(value.min(VALUE_MAX))] += 1;
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Records the time from each of `from` to its partner in `to`.
    pub(crate) fn record_spans(&mut self, from: &[u64], to: &[u64]) {
        let (counts, mut sum) = (&mut *self.counts, 0_u128);
        for (from, to) in from.iter().zip(to) {
            let value = to - from;
            counts[cell(value.min(VALUE_MAX))] += 1;
            sum += u128::from(value);
        }
        self.count += from.len() as u64;
        self.sum += sum;
    }

    /// Adds the values of another.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// The highest value that counts as at most `bound`: a [quantile](Self::quantile) is at most
    /// `bound` if enough values are at most this.
    pub(crate) const fn highest_within(bound: u64) -> u64 {
        let (lowest, width) = values(cell(if bound < VALUE_MAX { bound } else { VALUE_MAX }));
        // A quantile is the middle of a cell.
        if lowest + width / 2 <= bound { lowest + (width - 1) } else { lowest - 1 }
    }

    /// The number of values, of `count`, that a [quantile](Self::quantile) covers.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
    pub(crate) fn rank(share: f64, count: u64) -> u64 {
        (libm::ceil(share.min(1.0) * count as f64) as u64).max(1)
    }

    pub(crate) const fn sum(&self) -> u128 {
        self.sum
    }

    /// The values recorded since `before`, which becomes a copy of this one.
    #[expect(clippy::cast_possible_truncation, reason = "there are 54,000 cells")]
    pub(crate) fn since(&self, before: &mut Self) -> Cells {
        let mut cells = Cells::default();
        for (index, (now, before)) in self.counts.iter().zip(&mut before.counts).enumerate() {
            if now != before {
                cells.push(index as u32, now - *before);
                *before = *now;
            }
        }
        (before.count, before.sum) = (self.count, self.sum);
        cells
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are 54,000 cells")]
    pub(crate) const fn cell_of(value: u64) -> u32 {
        cell(if value < VALUE_MAX { value } else { VALUE_MAX }) as u32
    }

    /// The middle of a cell, the value of a [quantile](Self::quantile) in it.
    pub(crate) const fn middle_of(cell: u32) -> f64 {
        let (lowest, width) = values(cell as usize);
        (lowest + width / 2) as f64
    }

    /// The cells with values, in ascending order: lowest value, highest value, and count.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(cell, &count)| {
            let (lowest, width) = values(cell);
            (lowest, lowest + (width - 1), count)
        })
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of all values, exact; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that a share `share` of all values does not exceed, to 0.1 %; 0 without any.
    ///
    /// # Cost
    ///
    /// O(cells), of which there are 54,000.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = Self::rank(share, self.count);
        let mut below = 0;
        let reaches = |count: &u64| {
            below += count;
            below >= wanted
        };
        let found = self.counts.iter().position(reaches);
        found.map_or(0.0, |cell| {
            let (lowest, width) = values(cell);
            (lowest + width / 2) as f64
        })
    }

    /// The value that a share `share` of *all* does not exceed; only `accepted` of all were
    /// recorded, and the others count as infinite.
    pub(crate) fn quantile_of_all(&self, share: f64, accepted: f64) -> f64 {
        if share > accepted { f64::INFINITY } else { self.quantile(share / accepted) }
    }

    /// The share of values above `value`, to three significant digits.
    #[must_use]
    pub fn share_above(&self, value: u64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let within: u64 = self.counts[..=cell(value.min(VALUE_MAX))].iter().sum();
        1.0 - within as f64 / self.count as f64
    }

    /// The largest value, to 0.1 %.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.counts.iter().rposition(|&count| count > 0).map_or(0, |cell| {
            let (lowest, width) = values(cell);
            lowest + (width - 1)
        })
    }
}

impl fmt::Debug for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, mean, p99, max) = (self.count(), self.mean(), self.quantile(0.99), self.max());
        write!(f, "Distribution {{ count: {count}, mean: {mean}, p99: {p99}, max: {max} }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use nebula_workload::Seed;

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut values = Distribution::new();
        for value in 1..=1_000_000_u64 {
            values.record(value * 1000);
        }
        for share in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let exact = share * 1e9;
            assert!((values.quantile(share) / exact - 1.0).abs() < 1e-3, "{share}: {}", values.quantile(share));
        }
        assert_eq!(values.mean(), 500_000_500.0);
        assert!((values.share_above(900_000_000) - 0.1).abs() < 1e-3);
    }

    #[test]
    fn it_answers_as_an_hdr_histogram_of_the_same_cells_does() {
        let mut rng = Seed(5).stream("distribution");
        for bits in [1, 11, 12, 30, 63] {
            let mut ours = Distribution::new();
            let mut theirs = Histogram::<u64>::new_with_bounds(1, 1 << 62, 3).unwrap();
            assert_eq!((ours.quantile(0.5), ours.max(), ours.share_above(7)), (0.0, 0, 0.0));
            for _ in 0..5_000 {
                let value = rng.next_u64() >> (64 - bits) >> rng.below(bits);
                ours.record(value);
                theirs.saturating_record(value);
            }
            for share in [0.0, 1e-9, 0.01, 0.5, 0.99, 0.999, 1.0, 1.5] {
                let expected = theirs.median_equivalent(theirs.value_at_quantile(share)) as f64;
                assert_eq!(ours.quantile(share), expected, "{bits} bits, {share}");
                let value = theirs.value_at_quantile(share);
                let above = 1.0 - theirs.count_between(0, value) as f64 / 5_000.0;
                assert_eq!(ours.share_above(value), above, "{bits} bits above {value}");
            }
            assert_eq!((ours.count(), ours.max()), (theirs.len(), theirs.max()), "{bits} bits");
        }
    }

    #[test]
    fn a_value_beyond_the_largest_counts_as_that() {
        let mut values = Distribution::new();
        values.record(u64::MAX);
        assert_eq!((values.count(), values.max(), values.share_above(u64::MAX)), (1, VALUE_MAX, 0.0));
    }

    #[test]
    fn a_quantile_is_within_a_bound_if_enough_values_are() {
        let mut rng = Seed(6).stream("distribution");
        for _ in 0..50 {
            let mut all = Distribution::new();
            let drawn: Vec<u64> = (0..1000).map(|_| rng.next_u64() >> (40 + rng.below(20))).collect();
            drawn.iter().for_each(|&value| all.record(value));
            for bound in drawn.iter().flat_map(|&value| [value.saturating_sub(1), value, value + 1]) {
                let within = drawn.iter().filter(|&&value| value <= Distribution::highest_within(bound)).count() as u64;
                assert_eq!(all.quantile(0.99) <= bound as f64, within >= Distribution::rank(0.99, 1000), "{bound}");
            }
        }
    }

    #[test]
    fn sums_of_two_are_as_if_all_were_recorded_in_one() {
        let [mut one, mut other, mut all] = [(); 3].map(|()| Distribution::new());
        for value in [0, 1, 2047, 2048, 99_999, u64::MAX] {
            one.record(value);
            other.record(value / 3);
            all.record(value);
            all.record(value / 3);
        }
        one.add(&other);
        assert_eq!(one, all);
    }
}
