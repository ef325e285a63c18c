//! The latencies of RPCs.
//!
//! A [`LatencyRecorder`] is an HDR histogram of nanoseconds with two additions. An RPC that was
//! NACKed or lost has **infinite** latency and sorts last, so that refusing RPCs never improves a
//! quantile. RPCs due before the warm-up ends are counted, but not recorded.

use hdrhistogram::Histogram;
use nebula_nic::{Span, Timestamp};

/// The latency of an RPC; every finite one is below the infinite one.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::Latency;
///
/// assert!(Latency::Finite(Span::MAX) < Latency::Infinite);
/// assert_eq!(Latency::Infinite.finite(), None);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Latency {
    /// From the intended send to the reply.
    Finite(Span),
    /// NACKed, lost or never sent.
    Infinite,
}

impl Latency {
    /// The span of a finite latency.
    #[must_use]
    pub const fn finite(self) -> Option<Span> {
        match self {
            Self::Finite(span) => Some(span),
            Self::Infinite => None,
        }
    }
}

/// Latencies of many RPCs, in bounded space.
///
/// Quantiles are at most [`RELATIVE_ERROR`](Self::RELATIVE_ERROR) above the exact ones; mean,
/// minimum and maximum are exact. Latencies are whole nanoseconds, rounded down, from 1 ns to
/// [`MAX`](Self::MAX); a longer one counts as that, and in [`saturated`](Self::saturated).
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Latency, LatencyRecorder};
///
/// let mut recorder = LatencyRecorder::new();
/// for us in 1..=98 {
///     recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_us(us)));
/// }
/// recorder.record(Timestamp::ZERO, Latency::Infinite);
/// recorder.record(Timestamp::ZERO, Latency::Infinite);
/// assert_eq!(recorder.quantile(0.5).and_then(Latency::finite).map(|p50| p50.as_ns() / 100), Some(500));
/// assert_eq!(recorder.quantile(0.99), Some(Latency::Infinite));
/// ```
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    histogram: Histogram<u64>,
    infinite: u64,
    saturated: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    warm_until: Timestamp,
    ignored: u64,
}

/// Significant digits of the histogram: a value is known to one part in a thousand.
const SIGNIFICANT_DIGITS: u8 = 3;
const MAX_NS: u64 = 100_000_000_000;

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// The longest latency that is resolved: 100 s, far beyond any SLO.
    pub const MAX: Span = Span::from_ns(MAX_NS);
    /// How far a quantile may exceed the exact one, as a share of it.
    pub const RELATIVE_ERROR: f64 = 1e-3;

    /// An empty recorder that records from the first RPC on. Allocates some 230 KB; nothing is
    /// allocated afterwards.
    #[must_use]
    pub fn new() -> Self {
        Self::with_warm_up_until(Timestamp::ZERO)
    }

    /// An empty recorder that ignores RPCs due before `warm_until`.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the bounds are constants")]
    pub fn with_warm_up_until(warm_until: Timestamp) -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_NS, SIGNIFICANT_DIGITS);
        Self {
            histogram: histogram.expect("1 ns to 100 s at three digits is a legal histogram"),
            infinite: 0,
            saturated: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            warm_until,
            ignored: 0,
        }
    }

    /// Records the latency of an RPC that was due at `intended`. O(1), no allocation.
    #[inline]
    pub fn record(&mut self, intended: Timestamp, latency: Latency) {
        match latency {
            _ if intended < self.warm_until => self.ignored += 1,
            Latency::Finite(span) => self.record_finite(span.as_ns()),
            Latency::Infinite => self.infinite += 1,
        }
    }

    fn record_finite(&mut self, ns: u64) {
        self.saturated += u64::from(ns > MAX_NS);
        let ns = ns.min(MAX_NS);
        self.histogram.saturating_record(ns);
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds everything that `other` has recorded and ignored.
    #[expect(clippy::missing_panics_doc, reason = "all recorders have the same bounds")]
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all recorders have the same bounds");
        self.infinite += other.infinite;
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.ignored += other.ignored;
    }

    /// RPCs recorded, finite and infinite.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.infinite
    }

    /// RPCs of infinite latency.
    #[must_use]
    pub fn infinite(&self) -> u64 {
        self.infinite
    }

    /// RPCs that took longer than [`MAX`](Self::MAX).
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// RPCs ignored because they belonged to the warm-up.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The latency that a share `q` of all RPCs do not exceed; `None` if nothing is recorded. That
    /// is the latency of rank ⌈q·count⌉ in ascending order, infinite ones last. `q` is clamped to
    /// 0..=1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Latency> {
        let count = self.count();
        let rank = rank(q, count);
        match () {
            () if count == 0 => None,
            () if rank > self.histogram.len() => Some(Latency::Infinite),
            () => Some(Latency::Finite(self.value_at_rank(rank))),
        }
    }

    fn value_at_rank(&self, rank: u64) -> Span {
        // Half a rank below the rank: the histogram rounds up, and no rounding error of the
        // division reaches the next rank.
        let ns = self.histogram.value_at_quantile((rank as f64 - 0.5) / self.histogram.len() as f64);
        Span::from_ns(ns.clamp(self.min_ns, self.max_ns))
    }

    /// The mean of the *finite* latencies; `None` if there are none.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a mean of values up to 100 s")]
    pub fn mean(&self) -> Option<Span> {
        let ps = (self.sum_ns * 1000).checked_div(u128::from(self.histogram.len()))?;
        Some(Span::from_ps(ps as u64))
    }

    /// The minimum latency.
    #[must_use]
    pub fn min(&self) -> Option<Latency> {
        match self.histogram.len() {
            0 => (self.infinite > 0).then_some(Latency::Infinite),
            _ => Some(Latency::Finite(Span::from_ns(self.min_ns))),
        }
    }

    /// The maximum latency, infinite if any is.
    #[must_use]
    pub fn max(&self) -> Option<Latency> {
        if self.infinite > 0 { Some(Latency::Infinite) } else { self.max_finite().map(Latency::Finite) }
    }

    /// The maximum finite latency.
    #[must_use]
    pub fn max_finite(&self) -> Option<Span> {
        (!self.histogram.is_empty()).then_some(Span::from_ns(self.max_ns))
    }

    /// The share of RPCs that took longer than `bound`, in 0 to 1; 0 if nothing is recorded. Values
    /// in the bound's cell of the histogram count as not longer.
    #[must_use]
    pub fn share_above(&self, bound: Span) -> f64 {
        let beyond = self.histogram.highest_equivalent(bound.as_ns().min(MAX_NS)).saturating_add(1);
        let finite = self.histogram.iter_recorded().skip_while(|cell| cell.value_iterated_to() < beyond);
        let above = finite.map(|cell| cell.count_at_value()).sum::<u64>() + self.infinite;
        above as f64 / self.count().max(1) as f64
    }

    /// Whether the p99 is within `slo`; false if nothing is recorded.
    #[must_use]
    pub fn meets(&self, slo: Span) -> bool {
        self.quantile(0.99).is_some_and(|p99| p99 <= Latency::Finite(slo))
    }

    /// The cells of the histogram in ascending order: the maximum latency of the cell, and its
    /// count. For curves, without infinite latencies.
    pub fn cells(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        self.histogram.iter_recorded().map(|cell| (Span::from_ns(cell.value_iterated_to()), cell.count_at_value()))
    }

    /// The figures for tables; `None` if nothing is recorded.
    #[must_use]
    pub fn summary(&self) -> Option<LatencySummary> {
        Some(LatencySummary {
            count: self.count(),
            infinite: self.infinite,
            mean: self.mean(),
            p50: self.quantile(0.5)?,
            p90: self.quantile(0.9)?,
            p95: self.quantile(0.95)?,
            p99: self.quantile(0.99)?,
            p999: self.quantile(0.999)?,
            max: self.max()?,
        })
    }
}

/// The figures of a [`LatencyRecorder`] for tables.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Latency, LatencyRecorder};
///
/// let mut recorder = LatencyRecorder::new();
/// recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_us(3)));
/// let summary = recorder.summary().expect("one RPC is recorded");
/// assert_eq!((summary.count, summary.p99), (1, Latency::Finite(Span::from_us(3))));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LatencySummary {
    /// RPCs recorded, finite and infinite.
    pub count: u64,
    /// RPCs of infinite latency.
    pub infinite: u64,
    /// Mean of the finite latencies, `None` if there are none.
    pub mean: Option<Span>,
    /// Median.
    pub p50: Latency,
    /// 90th percentile.
    pub p90: Latency,
    /// 95th percentile.
    pub p95: Latency,
    /// 99th percentile, which the SLO bounds.
    pub p99: Latency,
    /// 99.9th percentile.
    pub p999: Latency,
    /// Maximum.
    pub max: Latency,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the count")]
fn rank(q: f64, count: u64) -> u64 {
    // A product such as 0.99 · 100 may be slightly above 99, and must not be rounded up to 100.
    let exact = q.clamp(0.0, 1.0) * count as f64;
    let rank = libm::ceil(exact * (1.0 - 4.0 * f64::EPSILON)) as u64;
    rank.clamp(1, count.max(1))
}
