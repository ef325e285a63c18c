//! A log-linear histogram of times: sixteen buckets for each doubling, so that the width of a
//! bucket is at most a sixteenth of its times.

use nebula_nic::Span;

/// Buckets for times up to 70 s; longer times are in the last one.
pub(super) const BUCKETS: usize = 528;
/// log₂ of a bucket's unit in picoseconds: about a nanosecond.
const UNIT_SHIFT: u32 = 10;
const EACH: u64 = 16;
const EACH_SHIFT: u32 = EACH.trailing_zeros();

#[expect(clippy::cast_possible_truncation, reason = "at most the number of buckets")]
#[inline(always)]
pub(super) const fn bucket_of(ps: u64) -> usize {
    let units = ps >> UNIT_SHIFT;
    if units < EACH {
        return units as usize;
    }
    let shift = 63 - units.leading_zeros() - EACH_SHIFT;
    let bucket = (shift as u64 * EACH + (units >> shift)) as usize;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

const fn end_ps(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let units = if next < 2 * EACH { next } else { (next % EACH + EACH) << (next / EACH - 1) };
    units << UNIT_SHIFT
}

/// Sampled times, in buckets.
///
/// # Examples
///
/// ```
/// use nebula::{Client, Reply, Server};
///
/// let name = format!("shm://doc-histogram-{}", std::process::id());
/// let server = Server::bind(&name).inline(true).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let mut client = Client::connect(&name)?;
/// for _ in 0..1000 {
///     client.call(b"hello")?;
/// }
/// let latency = server.status().latency();
/// assert!(latency.count() > 0 && latency.quantile(0.5) <= latency.quantile(0.99));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    sum_ps: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into(), sum_ps: 0 }
    }
}

impl Histogram {
    pub(super) fn read(sum_ps: u64, count: impl Fn(usize) -> u64) -> Self {
        Self { counts: (0..BUCKETS).map(count).collect(), sum_ps }
    }

    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all sampled times.
    #[must_use]
    pub fn sum(&self) -> Span {
        Span::from_ps(self.sum_ps)
    }

    /// The mean; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        self.sum_ps.checked_div(self.count()).map(Span::from_ps)
    }

    /// The time that a share `share` of the samples do not exceed, rounded up to the end of its
    /// bucket: at most a sixteenth too long. `None` without samples.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let count = self.count();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let wanted = ((share * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        self.buckets().find_map(|(end, count)| {
            seen += count;
            (seen >= wanted).then_some(end)
        })
    }

    /// The buckets with samples: the end of each, and its number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(bucket, &count)| (Span::from_ps(end_ps(bucket)), count))
    }

    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum_ps += other.sum_ps;
    }

    /// The samples added since `earlier`, an earlier reading of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(count, before)| count.saturating_sub(*before));
        Self { counts: counts.collect(), sum_ps: self.sum_ps.saturating_sub(earlier.sum_ps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_that_ends_behind_it_by_at_most_a_sixteenth() {
        let mut ps = 0_u64;
        while ps < 60_000_000_000_000 {
            let bucket = bucket_of(ps);
            let end = end_ps(bucket);
            assert!(ps < end, "{ps} is beyond its bucket, which ends at {end}");
            assert!(end <= ps + ps / 16 + 1024, "{ps} is in a bucket that ends at {end}");
            assert!(bucket == 0 || end_ps(bucket - 1) <= ps, "{ps} belongs into a bucket before {bucket}");
            ps += ps / 97 + 401;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    fn of(times_ns: &[u64]) -> Histogram {
        let mut counts = vec![0; BUCKETS];
        times_ns.iter().for_each(|ns| counts[bucket_of(ns * 1000)] += 1);
        Histogram::read(times_ns.iter().sum::<u64>() * 1000, |bucket| counts[bucket])
    }

    #[test]
    fn quantiles_are_those_of_the_samples_to_a_sixteenth() {
        let times: Vec<u64> = (1..=1000).collect();
        let histogram = of(&times);
        for (share, exact_ns) in [(0.0, 1.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile(share).unwrap().as_ns_f64();
            assert!((exact_ns..=exact_ns * 1.0625 + 1.1).contains(&found), "{share}: {found} for {exact_ns}");
        }
        assert_eq!((histogram.count(), histogram.mean()), (1000, Some(Span::from_ps(500_500))));
        assert_eq!((Histogram::default().quantile(0.5), Histogram::default().mean()), (None, None));
    }

    #[test]
    fn what_came_since_and_what_was_before_are_the_whole() {
        let (before, all) = (of(&[5, 70]), of(&[5, 70, 70, 9000]));
        let since = all.since(&before);
        assert_eq!(since, of(&[70, 9000]));
        let mut merged = before;
        merged.merge(&since);
        assert_eq!(merged, all);
    }
}
