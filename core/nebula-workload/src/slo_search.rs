//! The highest rate that meets the SLO.
//!
//! [`SloSearch`] chooses the next rate to probe by the verdicts so far; it runs nothing itself. It
//! doubles the rate until one misses the SLO (or halves it until one meets it), then bisects the
//! bracket until it is narrow enough.
//!
//! On a shared machine, a probe can miss by bad luck, and sometimes meet by good luck. So a rate
//! takes the best of three probes where it matters:
//!
//! ```text
//! missed once            probe the same rate again before believing it
//! met once               believe it for the moment, go on upwards
//! bracket narrow enough  probe its lower end again until it has met or missed twice;
//!                        if missed, the end was luck: bisect on, below it
//! ```
//!
//! So one wrong verdict does not change the answer. The number of probes is bounded.

use nebula_nic::Span;

use crate::rate::Rate;
use crate::recorder::LatencyRecorder;

/// Finds the highest offered rate whose p99 is within the SLO.
///
/// # Examples
///
/// A server that meets the SLO up to 730 k RPC/s:
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::{Rate, SloSearch};
///
/// let (first, lowest, highest) = ("100k".parse()?, "1k".parse()?, "100M".parse()?);
/// let mut search = SloSearch::new(Span::from_us(100), first, lowest..=highest, 0.02);
/// while let Some(rate) = search.next_rate() {
///     search.handle_result(rate, rate.as_rps() <= 730_000.0);
/// }
/// let found = search.result().throughput_under_slo_rps.expect("some rate meets the SLO");
/// assert!((715_000.0..=730_000.0).contains(&found));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SloSearch {
    slo: Span,
    first: Rate,
    lowest: Rate,
    highest: Rate,
    precision: f64,
    probes_max: usize,
    probes: usize,
    /// In ascending order of rate.
    points: Vec<Point>,
}

/// The verdicts on one rate.
#[derive(Copy, Clone, Debug)]
struct Point {
    rate: Rate,
    met: u32,
    missed: u32,
}

impl Point {
    const VOTES: u32 = 2;

    fn is_missed(&self) -> bool {
        self.missed >= Self::VOTES && self.met < Self::VOTES
    }

    /// Met, according to the probes so far.
    fn is_met(&self) -> bool {
        self.met > 0 && !self.is_missed()
    }
}

/// The result of a search.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::{Rate, SloSearch};
///
/// let search = SloSearch::new(Span::from_us(100), Rate::default(), Rate::MIN..=Rate::MAX, 0.02);
/// let result = search.result();
/// assert_eq!((result.throughput_under_slo_rps, result.is_complete), (None, false));
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The highest rate that met the SLO in two probes, in RPC/s; `None` if there is none (yet).
    pub throughput_under_slo_rps: Option<f64>,
    /// The lowest rate that missed it in two probes, in RPC/s; `None` if none up to the upper limit
    /// did.
    pub lowest_missed_rps: Option<f64>,
    /// The number of probes made.
    pub probes: usize,
    /// Whether the bracket is as narrow as requested; false during a search and after its last
    /// probe.
    pub is_complete: bool,
}

enum Step {
    Probe(Rate),
    Complete,
}

impl SloSearch {
    /// The default limit on probes: a factor of a thousand by doubling takes 10, a precision of 1 %
    /// by bisection 7, and at worst each is made three times.
    pub const PROBES_MAX: usize = 51;
    /// The narrowest bracket that can be requested, as a share of its lower end.
    pub const PRECISION_MIN: f64 = 1e-4;

    /// Begins a search at `first`, within `limits`, for a bracket no wider than the share
    /// `precision` of its lower end. `first` is clamped to the limits, `precision` raised to at
    /// least [`PRECISION_MIN`](Self::PRECISION_MIN).
    #[must_use]
    pub fn new(slo: Span, first: Rate, limits: std::ops::RangeInclusive<Rate>, precision: f64) -> Self {
        let (lowest, highest) = limits.into_inner();
        let highest = if highest < lowest { lowest } else { highest };
        Self {
            slo,
            first: within(first, lowest, highest),
            lowest,
            highest,
            precision: precision.max(Self::PRECISION_MIN),
            probes_max: Self::PROBES_MAX,
            probes: 0,
            points: Vec::new(),
        }
    }

    /// Sets the number of probes after which the search gives up.
    #[must_use]
    pub fn probes_max(mut self, probes_max: usize) -> Self {
        self.probes_max = probes_max;
        self
    }

    /// The SLO searched for.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.slo
    }

    /// The verdict on a probe: whether its p99, with NACKs as infinite, is within the SLO.
    #[must_use]
    pub fn is_met_by(&self, latency: &LatencyRecorder) -> bool {
        latency.meets(self.slo)
    }

    /// The rate to probe next; `None` when the search is over.
    #[must_use]
    pub fn next_rate(&self) -> Option<Rate> {
        match self.step() {
            Step::Probe(rate) if self.probes < self.probes_max => Some(rate),
            _ => None,
        }
    }

    /// Records the verdict on a probe of `rate`.
    pub fn handle_result(&mut self, rate: Rate, is_met: bool) {
        self.probes += 1;
        let at = self.points.partition_point(|point| point.rate < rate);
        if self.points.get(at).is_none_or(|point| point.rate != rate) {
            self.points.insert(at, Point { rate, met: 0, missed: 0 });
        }
        let point = &mut self.points[at];
        point.met += u32::from(is_met);
        point.missed += u32::from(!is_met);
    }

    fn step(&self) -> Step {
        // A rate that missed once is neither met nor missed, so the same rate is chosen again.
        match (self.highest_met(), self.lowest_missed()) {
            (None, None) => Step::Probe(self.first),
            (Some(met), None) if met.rate < self.highest => Step::Probe(self.limited(met.rate.scaled(2.0))),
            (None, Some(missed)) if missed.rate > self.lowest => Step::Probe(self.limited(missed.rate.scaled(0.5))),
            (Some(met), Some(missed)) if self.is_wide(met, missed) => Step::Probe(middle(met.rate, missed.rate)),
            (Some(met), _) if met.met < Point::VOTES => Step::Probe(met.rate),
            _ => Step::Complete,
        }
    }

    fn lowest_missed(&self) -> Option<Point> {
        self.points.iter().copied().find(Point::is_missed)
    }

    /// The highest point met below every point missed: one that meets above a miss is luck.
    fn highest_met(&self) -> Option<Point> {
        self.points.iter().copied().take_while(|point| !point.is_missed()).filter(Point::is_met).last()
    }

    fn is_wide(&self, met: Point, missed: Point) -> bool {
        missed.rate.as_rps() > met.rate.as_rps() * (1.0 + self.precision)
    }

    fn limited(&self, rate: Rate) -> Rate {
        within(rate, self.lowest, self.highest)
    }

    /// The result so far.
    #[must_use]
    pub fn result(&self) -> SearchResult {
        let met_twice = |point: &Point| point.met >= Point::VOTES;
        let met = self.points.iter().take_while(|point| !point.is_missed()).filter(|point| met_twice(point)).last();
        SearchResult {
            throughput_under_slo_rps: met.map(|point| point.rate.as_rps()),
            lowest_missed_rps: self.lowest_missed().map(|point| point.rate.as_rps()),
            probes: self.probes,
            is_complete: matches!(self.step(), Step::Complete),
        }
    }
}

fn within(rate: Rate, lowest: Rate, highest: Rate) -> Rate {
    match rate {
        rate if rate < lowest => lowest,
        rate if rate > highest => highest,
        rate => rate,
    }
}

fn middle(met: Rate, missed: Rate) -> Rate {
    met.scaled((1.0 + missed.as_rps() / met.as_rps()) / 2.0)
}
