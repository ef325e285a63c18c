//! The interval of a quantile: the latencies whose share of later RPCs may be the wanted one.
//!
//! The share of RPCs later than a latency is a sum over a sum, so its interval is a [`Ratio`]'s. A
//! latency belongs to the quantile's interval if the interval of its share contains the wanted
//! share. So no density around the quantile is assumed, and the ends are latencies that were seen.

use super::Interval;
use super::cells::Cells;
use super::ratio::Ratio;
use crate::tally::distribution::Distribution;

/// A part of the distribution: its values, and how many RPCs count as later than all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail<'a> {
    pub(crate) cells: &'a Cells,
    pub(crate) infinite: u64,
}

impl Tail<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.count() == 0 && self.infinite == 0
    }

    /// How many are above the cell, and how many there are.
    fn above(&self, cell: u32) -> (f64, f64) {
        let count = self.cells.count();
        ((count - self.cells.within(cell) + self.infinite) as f64, (count + self.infinite) as f64)
    }
}

pub(crate) fn above(parts: &[Tail<'_>], cell: u32) -> Ratio {
    Ratio::of(&parts.iter().map(|part| part.above(cell)).collect::<Vec<_>>())
}

/// The value that a share `share` of all does not exceed, in the cells' unit; infinite if it lies
/// among the infinite ones. Takes O(parts · log² cells).
pub(crate) fn quantile(parts: &[Tail<'_>], share: f64) -> Interval {
    let late = 1.0 - share;
    let end = parts.iter().map(|part| part.cells.highest()).max().unwrap_or(0) + 1;
    // The middle of the first cell for which `holds` is true.
    let first = |holds: &dyn Fn(u32) -> bool| {
        let (mut low, mut high) = (0, end);
        while low < high {
            let middle = u32::midpoint(low, high);
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        if low == end { f64::INFINITY } else { Distribution::middle_of(low) }
    };
    let counts: (u64, u64) = parts
        .iter()
        .fold((0, 0), |(values, all), part| (values + part.cells.count(), all + part.cells.count() + part.infinite));
    let wanted = Distribution::rank(share, counts.1);
    let value = match wanted > counts.0 {
        true => f64::INFINITY,
        false => first(&|cell| parts.iter().map(|part| part.cells.within(cell)).sum::<u64>() >= wanted),
    };
    let lo = first(&|cell| above(parts, cell).against(late) <= 0).min(value);
    let hi = first(&|cell| above(parts, cell).against(late) < 0).max(value);
    Interval { value, lo, hi }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    fn cells(values: &mut [u64]) -> Cells {
        values.sort_unstable();
        let mut all = Distribution::new();
        values.iter().for_each(|&value| all.record(value));
        all.since(&mut Distribution::new())
    }

    #[test]
    fn the_true_quantile_is_within_its_interval_as_often_as_is_said() {
        let mut rng = Seed(9).stream("quantile");
        let (trials, mut hits) = (400, 0);
        for _ in 0..trials {
            let parts: Vec<Cells> = (0..40)
                .map(|_| {
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousands")]
                    let mut drawn: Vec<u64> = (0..250).map(|_| (-1e6 * libm::log(1.0 - rng.unit())) as u64).collect();
                    cells(&mut drawn)
                })
                .collect();
            let tails: Vec<Tail<'_>> = parts.iter().map(|cells| Tail { cells, infinite: 0 }).collect();
            hits += u32::from(quantile(&tails, 0.99).contains(-1e6 * libm::log(0.01)));
        }
        let share = f64::from(hits) / f64::from(trials);
        assert!((0.925..0.98).contains(&share), "{share}");
    }

    #[test]
    fn what_was_refused_is_later_than_everything() {
        let parts = [cells(&mut [1, 2, 3, 4]), cells(&mut [1, 2, 3, 4])];
        let tails = |infinite| [Tail { cells: &parts[0], infinite }, Tail { cells: &parts[1], infinite }];
        assert_eq!(quantile(&tails(0), 0.5), Interval::exact(2.0));
        assert_eq!(quantile(&tails(1), 0.99).value, f64::INFINITY);
        assert_eq!(quantile(&tails(1), 0.8).value, 4.0);
    }
}
