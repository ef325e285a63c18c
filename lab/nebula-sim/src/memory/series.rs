//! Bytes over time, in bounded memory.

use nebula_nic::{Span, Timestamp};

/// DRAM bandwidth over time: means of consecutive intervals, until the measured window ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandwidth {
    /// Length of an interval; at least 10 µs, as in the published simulator.
    pub interval: Span,
    /// Mean of each interval in 10⁹ bytes per second, at most [`POINTS_MAX`](Self::POINTS_MAX) of
    /// them; empty if the run is shorter than one interval.
    pub gb_per_s: Vec<f64>,
}

impl Bandwidth {
    /// Most points.
    pub const POINTS_MAX: usize = 200;
    const INTERVAL_MIN: Span = Span::from_us(10);
}

/// Counts in intervals of a power of two of picoseconds, which double if a run outlasts them.
#[derive(Clone, Debug)]
pub(super) struct Series {
    bytes: Box<[u64]>,
    shift: u32,
}

const INTERVALS: usize = 4096;

impl Series {
    /// One to two thousand intervals for a run that is expected to last `expected`.
    pub(super) fn new(expected: Span) -> Self {
        let interval_ps = (expected.as_ps() / 1024).max(1);
        Self { bytes: vec![0; INTERVALS].into(), shift: interval_ps.ilog2() }
    }

    #[inline]
    pub(super) fn add(&mut self, at: Timestamp, bytes: u64) {
        match self.bytes.get_mut(self.interval_of(at)) {
            Some(interval) => *interval += bytes,
            None => self.add_beyond(at, bytes),
        }
    }

    /// Mean rate from `from` to `to`; an interval that overlaps partly counts partly.
    pub(super) fn bytes_per_s(&self, from: Timestamp, to: Timestamp) -> f64 {
        (self.bytes_until(to) - self.bytes_until(from)) / (to - from).as_secs_f64()
    }

    pub(super) fn bandwidth(&self, end: Timestamp) -> Bandwidth {
        let whole = self.interval_of(end);
        let shortest = self.interval_of(Timestamp::ZERO + Bandwidth::INTERVAL_MIN) + 1;
        let together = whole.div_ceil(Bandwidth::POINTS_MAX).max(shortest);
        let interval = Span::from_ps((together as u64) << self.shift);
        let ns = interval.as_ns_f64();
        let points = self.bytes[..whole.min(INTERVALS)].chunks_exact(together);
        Bandwidth { interval, gb_per_s: points.map(|bytes| bytes.iter().sum::<u64>() as f64 / ns).collect() }
    }

    fn bytes_until(&self, end: Timestamp) -> f64 {
        let whole = self.interval_of(end).min(INTERVALS);
        let part = (end.as_ps() - ((whole as u64) << self.shift)) as f64 / (1_u64 << self.shift) as f64;
        let in_part = self.bytes.get(whole).map_or(0.0, |&bytes| bytes as f64 * part);
        self.bytes[..whole].iter().sum::<u64>() as f64 + in_part
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a run never lasts so many intervals")]
    const fn interval_of(&self, at: Timestamp) -> usize {
        (at.as_ps() >> self.shift) as usize
    }

    #[cold]
    fn add_beyond(&mut self, at: Timestamp, bytes: u64) {
        for interval in 0..INTERVALS / 2 {
            self.bytes[interval] = self.bytes[2 * interval] + self.bytes[2 * interval + 1];
        }
        self.bytes[INTERVALS / 2..].fill(0);
        self.shift += 1;
        self.add(at, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte each nanosecond is 1 GB/s, however long the intervals have become.
    #[test]
    fn a_run_longer_than_expected_keeps_its_rates() {
        for longer in [1, 3, 10, 100] {
            let mut series = Series::new(Span::from_us(100));
            let end = Timestamp::from_ps(longer * 100_000_000);
            for at_ps in (0..end.as_ps()).step_by(1000) {
                series.add(Timestamp::from_ps(at_ps), 1);
            }
            let [from, to] = [1, 2].map(|third| Timestamp::from_ps(end.as_ps() / 3 * third));
            assert!((series.bytes_per_s(from, to) / 1e9 - 1.0).abs() < 1e-3, "{longer}");
            let Bandwidth { interval, gb_per_s } = series.bandwidth(end);
            assert!(!gb_per_s.is_empty() && gb_per_s.len() <= Bandwidth::POINTS_MAX);
            assert!(interval >= Span::from_us(10) && gb_per_s.iter().all(|gb_per_s| (gb_per_s - 1.0).abs() < 1e-3));
        }
    }

    #[test]
    fn points_stop_at_the_end_of_the_window() {
        let mut series = Series::new(Span::from_ms(1));
        series.add(Timestamp::from_ps(5_000_000), 20_000);
        series.add(Timestamp::from_ps(900_000_000), 1);
        let points = series.bandwidth(Timestamp::from_ps(100_000_000));
        assert!(points.gb_per_s[0] > 0.0 && points.gb_per_s[1..].iter().all(|&gb_per_s| gb_per_s == 0.0));
        assert!(points.interval * points.gb_per_s.len() as u64 <= Span::from_us(100));
    }
}
