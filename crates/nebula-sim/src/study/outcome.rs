//! The results of the RPCs of a point, shared by both levels.

use super::units;
use crate::interval::Interval;
use crate::tally::Ended;

/// The results of the RPCs of a point over all replications; times are in nanoseconds, of the RPCs served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// RPCs served per second.
    pub served_rps: f64,
    /// The share of RPCs that were served, in 0 to 1.
    pub accepted: f64,
    /// Number of NACKs.
    pub nacks: u64,
    /// Whether the p99 of all RPCs meets the SLO, with a NACK counted as infinite.
    pub meets_slo: bool,
    /// Mean latency.
    pub mean: f64,
    /// Median latency.
    pub p50: f64,
    /// p90 of the latency.
    pub p90: f64,
    /// p99 of the latency.
    pub p99: Interval,
    /// p99.9 of the latency.
    pub p999: f64,
    /// Replications that ran.
    pub replications: usize,
    /// Whether the requested precision was reached; `None` if none was requested.
    pub is_precise: Option<bool>,
}

impl Outcome {
    /// The outcome of a tally of either level; `p99_ps` has the interval over the replications.
    pub(super) fn of(
        tally: &impl Ended,
        meets_slo: bool,
        replications: usize,
        is_precise: Option<bool>,
        p99_ps: Interval,
    ) -> Self {
        let latency = tally.latency();
        let ns = |share: f64| latency.quantile(share) / PS_PER_NS;
        Self {
            served_rps: tally.served_rps(),
            accepted: tally.accepted(),
            nacks: tally.nacks(),
            meets_slo,
            mean: latency.mean() / PS_PER_NS,
            p50: ns(0.5),
            p90: ns(0.9),
            p99: p99_ps.scaled(1.0 / PS_PER_NS),
            p999: ns(0.999),
            replications,
            is_precise,
        }
    }

    /// A warning that the requested precision was not reached, in one line; `at` names the point.
    pub(super) fn imprecision(&self, at: &str, precision: Option<f64>) -> Option<String> {
        (self.is_precise == Some(false)).then(|| {
            format!(
                "note: {at}: the p99 is known to {} after {} replications, not to {}; give more --rpcs",
                units::percent(self.p99.relative()),
                self.replications,
                units::percent(precision.unwrap_or(0.0)),
            )
        })
    }
}

pub(super) const PS_PER_NS: f64 = 1000.0;
