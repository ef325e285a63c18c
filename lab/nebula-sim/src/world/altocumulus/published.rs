//! The queue lengths that a group publishes: in each period an UPDATE to every other manager.
//!
//! No UPDATE is simulated. The lengths at the last multiples of the period are kept, and a manager
//! looks up the latest that has reached it.

use nebula_nic::{Span, Timestamp};

/// The lengths of one queue at multiples of the period; O(1) per change and per kept period.
pub(super) struct Published {
    period_ps: u64,
    /// As many as can be in flight, plus two.
    lengths: Box<[u32]>,
    /// The first period that has not been recorded, and its time.
    open: u64,
    open_ps: u64,
}

impl Published {
    /// An empty queue, whose lengths are kept until they are `delay` old.
    pub(super) fn new(period: Span, delay: Span) -> Self {
        let kept = usize::try_from(delay.as_ps() / period.as_ps()).expect("a delay of few periods") + 2;
        Self { period_ps: period.as_ps(), lengths: vec![0; kept].into(), open: 0, open_ps: 0 }
    }

    /// Notes that the queue was `length` long until `now`, when it may change.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Timestamp, length: u32) {
        if self.open_ps < now.as_ps() {
            self.fill(now, length);
        }
    }

    /// Fills in the periods before `now`; a change exactly at a multiple of the period is included.
    #[inline(never)]
    fn fill(&mut self, now: Timestamp, length: u32) {
        let next = (now.as_ps() - 1) / self.period_ps + 1;
        let kept = self.lengths.len() as u64;
        for period in self.open.max(next.saturating_sub(kept))..next {
            self.lengths[Self::place(period, kept)] = length;
        }
        (self.open, self.open_ps) = (next, next * self.period_ps);
    }

    /// The last length published at or before `at`; the queue is now `length` long.
    #[inline]
    pub(super) fn at(&self, at: Timestamp, length: u32) -> u32 {
        let period = at.as_ps() / self.period_ps;
        if period >= self.open { length } else { self.lengths[Self::place(period, self.lengths.len() as u64)] }
    }

    #[expect(clippy::cast_possible_truncation, reason = "below the number of lengths kept")]
    const fn place(period: u64, kept: u64) -> usize {
        (period % kept) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_at_the_multiples_of_the_period() {
        for delay_ns in [0, 99, 100, 250, 1000] {
            let (period, delay) = (Span::from_ns(100), Span::from_ns(delay_ns));
            let mut published = Published::new(period, delay);
            let mut history = vec![(Timestamp::ZERO, 0)];
            let mut length = 0;
            let mut rng = nebula_workload::Seed(delay_ns).stream("published");
            let mut now = Timestamp::ZERO;
            for number in 1..3000 {
                now += Span::from_ps([0, 1, 30_000, 70_000, 100_000, 900_000][usize::try_from(rng.below(6)).unwrap()]);
                published.note(now, length);
                if rng.below(3) > 0 {
                    length = number;
                    history.push((now, length));
                }
                let Some(seen_ps) = now.as_ps().checked_sub(delay.as_ps()) else { continue };
                let sent = Timestamp::from_ps(seen_ps / period.as_ps() * period.as_ps());
                let expected = history.iter().rev().find(|&&(at, _)| at <= sent).unwrap().1;
                assert_eq!(published.at(Timestamp::from_ps(seen_ps), length), expected, "at {now:?} after {delay:?}");
            }
        }
    }
}
