//! The load of a group, from smoothed counts of arrivals in windows.

use crate::time::{Span, Timestamp};

/// A manager's estimate of its group's load.
///
/// In whole numbers: the count of a window, with 16 binary places, enters a moving average with a
/// weight of 1/8. Cost: a comparison and an addition per arrival; a division when a window closes.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::LoadEstimate;
/// use nebula_nic::{Span, Timestamp};
///
/// // 15 cores and 1 µs per RPC: 150 RPCs fill a window of 10 µs.
/// let mut load = LoadEstimate::new(Span::from_us(10), 150);
/// for number in 0..1000 {
///     load.handle_arrival(Timestamp::from_ps(number * 100_000));
/// }
/// assert_eq!(load.permille(), 666, "an RPC each 100 ns are 100 in a window");
/// ```
#[derive(Clone, Debug)]
pub struct LoadEstimate {
    window: Span,
    /// Arrivals per window that keep all cores busy.
    capacity: u32,
    closes: Timestamp,
    count: u32,
    /// Arrivals per window, in 2^-16; `None` before the first window has closed.
    average: Option<u64>,
}

/// The weight of one window is 2^-3.
const WEIGHT_BITS: u32 = 3;
/// After this many empty windows, the average is 0.
const EMPTY_MAX: u64 = 256;

impl LoadEstimate {
    /// Windows of `window`, in which `capacity` arrivals are a load of 1.
    ///
    /// # Panics
    ///
    /// If either is zero.
    #[must_use]
    pub fn new(window: Span, capacity: u32) -> Self {
        assert!(window > Span::ZERO && capacity > 0, "a load is arrivals in a window over those it has room for");
        Self { window, capacity, closes: Timestamp::ZERO + window, count: 0, average: None }
    }

    /// Counts an arrival; `true` if this closed a window and changed the estimate.
    #[inline]
    pub fn handle_arrival(&mut self, now: Timestamp) -> bool {
        let closes = now >= self.closes;
        if closes {
            self.close(now);
        }
        self.count += 1;
        closes
    }

    /// The load in thousandths; 0 before the first window has closed.
    #[must_use]
    pub fn permille(&self) -> u32 {
        let permille = self.average.unwrap_or(0) * 1000 / (u64::from(self.capacity) << 16);
        u32::try_from(permille).unwrap_or(u32::MAX)
    }

    #[inline(never)]
    fn close(&mut self, now: Timestamp) {
        let empty = (now - self.closes).as_ps() / self.window.as_ps();
        let last = u64::from(self.count) << 16;
        self.average = Some(self.average.map_or(last, |average| smoothed(average, last)));
        for _ in 0..empty.min(EMPTY_MAX) {
            self.average = self.average.map(|average| smoothed(average, 0));
        }
        self.closes += Span::from_ps((empty + 1) * self.window.as_ps());
        self.count = 0;
    }
}

const fn smoothed(average: u64, last: u64) -> u64 {
    average - (average >> WEIGHT_BITS) + (last >> WEIGHT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_a_change_within_some_windows() {
        let mut load = LoadEstimate::new(Span::from_ns(100), 10);
        let feed = |load: &mut LoadEstimate, from_ns: u64, gap_ns: u64, count: u64| {
            (0..count).for_each(|number| {
                load.handle_arrival(Timestamp::ZERO + Span::from_ns(from_ns + number * gap_ns));
            });
        };
        assert_eq!(load.permille(), 0);
        feed(&mut load, 0, 20, 100);
        assert_eq!(load.permille(), 500);
        feed(&mut load, 2000, 10, 1000);
        assert!((990..=1000).contains(&load.permille()), "{}", load.permille());
    }

    #[test]
    fn windows_without_arrivals_count() {
        let mut load = LoadEstimate::new(Span::from_ns(100), 10);
        (0..100).for_each(|number| {
            load.handle_arrival(Timestamp::ZERO + Span::from_ns(number * 10));
        });
        assert_eq!(load.permille(), 1000);
        assert!(load.handle_arrival(Timestamp::ZERO + Span::from_us(1_000_000)));
        assert_eq!(load.permille(), 0);
        assert!(!load.handle_arrival(Timestamp::ZERO + Span::from_us(1_000_000)));
    }
}
