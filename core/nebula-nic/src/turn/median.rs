//! The time of an RPC, from measurements of which some include a long pause of the machine.
//!
//! RPCs are measured in batches. The estimate is a running mean of the median of the last five
//! batches, of which two may have any length. It follows a longer service after three batches.

use crate::time::Span;

const BATCH: u64 = 64;
/// A batch of slow RPCs ends after this time.
const BATCH_PS: u64 = 1_000_000_000;
const BATCHES: usize = 5;
/// The weight of a median in the mean: 1 / 4.
const SHIFT: u32 = 2;
const LEAST_PS: u64 = 64;

/// A running mean of medians.
#[derive(Clone, Debug)]
pub struct Median {
    mean_ps: u64,
    time_ps: u64,
    rpcs: u64,
    last_ps: [u64; BATCHES],
    at: usize,
}

impl Median {
    /// Assumes `first` until more is known.
    #[must_use]
    pub const fn new(first: Span) -> Self {
        Self { mean_ps: first.as_ps(), time_ps: 0, rpcs: 0, last_ps: [first.as_ps(); BATCHES], at: 0 }
    }

    /// The time of one RPC.
    #[must_use]
    #[inline(always)]
    pub const fn mean(&self) -> Span {
        Span::from_ps(self.mean_ps)
    }

    /// `rpcs` RPCs took `time` together.
    #[inline(always)]
    pub fn add(&mut self, time: Span, rpcs: u64) {
        self.time_ps = self.time_ps.saturating_add(time.as_ps());
        self.rpcs += rpcs;
        if self.rpcs >= BATCH || self.time_ps >= BATCH_PS {
            self.end_batch();
        }
    }

    #[inline(never)]
    fn end_batch(&mut self) {
        self.last_ps[self.at] = self.time_ps / self.rpcs;
        self.at = (self.at + 1) % BATCHES;
        (self.time_ps, self.rpcs) = (0, 0);
        let mut sorted = self.last_ps;
        sorted.sort_unstable();
        let mean = self.mean_ps - (self.mean_ps >> SHIFT) + (sorted[BATCHES / 2] >> SHIFT);
        self.mean_ps = mean.max(LEAST_PS);
    }

    /// Moves the mean towards `first` by 1 / 64.
    pub(super) fn fade(&mut self, first: Span) {
        self.mean_ps = self.mean_ps - (self.mean_ps >> 6) + (first.as_ps() >> 6);
        self.last_ps = [self.mean_ps; BATCHES];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Span = Span::from_us(1);

    #[test]
    fn two_batches_of_five_may_be_any_length() {
        let mut median = Median::new(US);
        for round in 0..1000 {
            let time = if round % 5 < 2 { Span::from_ms(40) } else { US * 64 };
            median.add(time, 64);
        }
        assert_eq!(median.mean().as_ns(), 1000);
    }

    #[test]
    fn a_longer_service_is_believed_after_some_batches() {
        let mut median = Median::new(US);
        for _ in 0..16 {
            median.add(US * 10 * 64, 64);
        }
        assert!(median.mean().as_ns() > 9_000, "{}", median.mean());
        for _ in 0..24 {
            median.add(Span::from_ms(3), 1);
        }
        assert!(median.mean().as_ns() > 2_900_000, "{}", median.mean());
    }
}
