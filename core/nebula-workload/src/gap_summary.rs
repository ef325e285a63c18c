//! The frequency and length of the machine's pauses.

use hdrhistogram::Histogram;
use nebula_nic::Span;

/// The thresholds above which gaps are counted.
pub const GAP_CLASSES: [Span; 5] =
    [Span::from_us(1), Span::from_us(3), Span::from_us(10), Span::from_us(30), Span::from_us(100)];

/// Counts of gaps and the time observed, which can be merged.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::GapTally;
///
/// let mut core = GapTally::new();
/// core.observe(Span::from_us(10));
/// core.count(Span::from_us(4));
/// let mut both = core.clone();
/// both.merge(&core);
/// assert_eq!(both.summary().observed, Span::from_us(20));
/// ```
#[derive(Clone, Debug)]
pub struct GapTally {
    observed: Span,
    lost: Span,
    longest: Span,
    above: [u64; GAP_CLASSES.len()],
    lengths_ns: Histogram<u64>,
}

impl Default for GapTally {
    fn default() -> Self {
        Self::new()
    }
}

impl GapTally {
    /// An empty tally.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the bounds are constants")]
    pub fn new() -> Self {
        // Two digits distinguish 8.7 µs from 8.8 µs; a gap above 100 s counts as one of 100 s.
        let lengths_ns =
            Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("1 ns to 100 s at two digits is legal");
        Self { observed: Span::ZERO, lost: Span::ZERO, longest: Span::ZERO, above: [0; _], lengths_ns }
    }

    /// Adds a period of observed time, gaps included.
    #[inline]
    pub fn observe(&mut self, step: Span) {
        self.observed += step;
    }

    /// Counts one gap; its time is added separately with `observe`.
    pub fn count(&mut self, length: Span) {
        self.lost += length;
        self.longest = self.longest.max(length);
        for (count, class) in self.above.iter_mut().zip(GAP_CLASSES) {
            *count += u64::from(length > class);
        }
        self.lengths_ns.saturating_record(length.as_ns());
    }

    /// Adds the tally of another core; times and counts are then sums over both cores.
    #[expect(clippy::missing_panics_doc, reason = "all tallies have the same bounds")]
    pub fn merge(&mut self, other: &Self) {
        self.observed += other.observed;
        self.lost += other.lost;
        self.longest = self.longest.max(other.longest);
        for (count, more) in self.above.iter_mut().zip(other.above) {
            *count += more;
        }
        self.lengths_ns.add(&other.lengths_ns).expect("all tallies have the same bounds");
    }

    /// The counts as rates and shares.
    #[must_use]
    pub fn summary(&self) -> GapSummary {
        let seconds = self.observed.as_secs_f64();
        let per_observed = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let length_at = |q| {
            (!self.lengths_ns.is_empty()).then(|| Span::from_ns(self.lengths_ns.value_at_quantile(q)).min(self.longest))
        };
        GapSummary {
            observed: self.observed,
            per_second_above: std::array::from_fn(|class| (GAP_CLASSES[class], per_observed(self.above[class] as f64))),
            share_lost: per_observed(self.lost.as_secs_f64()),
            longest: self.longest,
            length_p50: length_at(0.5),
            length_p99: length_at(0.99),
        }
    }
}

/// How often, and for how long, cores did not run.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::GapTally;
///
/// let mut tally = GapTally::new();
/// tally.observe(Span::from_ms(500));
/// tally.count(Span::from_us(50));
/// let summary = tally.summary();
/// assert_eq!(summary.per_second_above[2], (Span::from_us(10), 2.0));
/// assert_eq!(summary.share_lost, 1e-4);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct GapSummary {
    /// The time observed, summed over cores.
    pub observed: Span,
    /// For each of [`GAP_CLASSES`]: gaps longer than it, per second and core.
    pub per_second_above: [(Span, f64); GAP_CLASSES.len()],
    /// The share of the time observed that was spent in gaps of 1 µs and longer, in 0 to 1.
    pub share_lost: f64,
    /// The longest gap; zero if there was none.
    pub longest: Span,
    /// Median length of the gaps of 1 µs and longer, `None` if there was none.
    pub length_p50: Option<Span>,
    /// 99th percentile of their lengths.
    pub length_p99: Option<Span>,
}
