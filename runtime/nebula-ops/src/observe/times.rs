//! Times in buckets for JSON: the upper bound of each bucket, and its count.

use nebula::{Histogram, Span};
use serde::{Deserialize, Serialize};

use nebula_ui::output::text;

/// Sampled times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    pub samples: u64,
    pub sum_ns: f64,
    /// The buckets that have samples, in order.
    pub buckets: Vec<(f64, u64)>,
}

impl Times {
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            samples: histogram.count(),
            sum_ns: histogram.sum().as_ns_f64(),
            buckets: histogram.buckets().map(|(end, count)| (end.as_ns_f64(), count)).collect(),
        }
    }

    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_ns / self.samples as f64)
    }

    /// The time that a share of the samples do not exceed, to a sixteenth.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.samples as f64).ceil().max(1.0);
        let mut seen = 0.0;
        self.buckets.iter().find_map(|&(end, count)| {
            seen += count as f64;
            (seen >= wanted).then_some(end)
        })
    }

    /// The samples since an earlier reading; all of them if the server has restarted.
    pub fn since(&self, earlier: &Self) -> Self {
        if earlier.samples > self.samples {
            return self.clone();
        }
        let before = |end: f64| {
            let at = earlier.buckets.binary_search_by(|(other, _)| other.total_cmp(&end));
            at.map_or(0, |at| earlier.buckets[at].1)
        };
        let buckets = self.buckets.iter().map(|&(end, count)| (end, count.saturating_sub(before(end))));
        Self {
            samples: self.samples - earlier.samples,
            sum_ns: (self.sum_ns - earlier.sum_ns).max(0.0),
            buckets: buckets.filter(|&(_, count)| count > 0).collect(),
        }
    }

    /// At most `most` times with the distribution of the samples: each bucket has its share, at its
    /// middle.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and at most `most`")]
    pub fn spread(&self, most: usize) -> Vec<Span> {
        let scale = (most as f64 / self.samples.max(1) as f64).min(1.0);
        let (mut spans, mut owed) = (Vec::new(), 0.0);
        for &(end, count) in &self.buckets {
            // A bucket is at most a sixteenth wide.
            let middle = end * (1.0 - 1.0 / 34.0);
            owed += count as f64 * scale;
            let whole = owed.round();
            owed -= whole;
            let span = Span::from_ps((middle * 1e3).max(1.0) as u64);
            spans.extend(std::iter::repeat_n(span, whole as usize));
        }
        spans
    }
}

/// A time in nanoseconds for a table; a dash without samples.
pub fn shown(ns: Option<f64>) -> String {
    ns.map_or("–".to_owned(), text::time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(buckets: &[(f64, u64)]) -> Times {
        let samples = buckets.iter().map(|(_, count)| count).sum();
        let sum_ns = buckets.iter().map(|(end, count)| end * *count as f64).sum();
        Times { samples, sum_ns, buckets: buckets.to_vec() }
    }

    #[test]
    fn quantiles_are_ends_of_buckets_and_no_samples_have_none() {
        let times = times(&[(10.0, 98), (500.0, 1), (9000.0, 1)]);
        let at = |share| times.quantile_ns(share);
        assert_eq!([at(0.5), at(0.98), at(0.99), at(1.0)], [Some(10.0), Some(10.0), Some(500.0), Some(9000.0)]);
        assert_eq!((Times::default().quantile_ns(0.5), Times::default().mean_ns()), (None, None));
    }

    #[test]
    fn what_came_since_leaves_the_earlier_ones_out() {
        let (before, now) = (times(&[(10.0, 5)]), times(&[(10.0, 7), (20.0, 1)]));
        assert_eq!(now.since(&before), times(&[(10.0, 2), (20.0, 1)]));
        assert_eq!(before.since(&now), before, "a server that has begun again");
    }

    #[test]
    fn spread_times_have_the_mean_of_the_samples_and_are_few() {
        let many = times(&[(1000.0, 900_000), (50_000.0, 100_000)]);
        let spans = many.spread(1000);
        let mean = spans.iter().map(|span| span.as_ns_f64()).sum::<f64>() / spans.len() as f64;
        assert_eq!(spans.len(), 1000);
        assert!((mean / many.mean_ns().unwrap() - 1.0).abs() < 0.04, "{mean}");
        assert_eq!(times(&[(1000.0, 3)]).spread(1000).len(), 3);
    }
}
