//! The results of the RPCs of a point, shared by both levels.

use crate::experiment::{Met, Parts};
use crate::interval::Interval;
use crate::tally::Ended;
use nebula_ui::units;

/// The results of a point's RPCs over all replications; times are nanoseconds, of the RPCs served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// RPCs served per second.
    pub served_rps: Interval,
    /// The share of RPCs that were served, in 0 to 1.
    pub accepted: Interval,
    /// Number of NACKs.
    pub nacks: u64,
    /// Whether the p99 of all RPCs meets the SLO; a NACK counts as infinite.
    pub met: Met,
    /// Whether too little was simulated for the intervals to hold.
    pub is_unsettled: bool,
    /// Mean latency.
    pub mean: Interval,
    /// Median latency.
    pub p50: Interval,
    /// p90 of the latency.
    pub p90: Interval,
    /// p99 of the latency.
    pub p99: Interval,
    /// p99.9 of the latency.
    pub p999: Interval,
    /// Replications that ran.
    pub replications: usize,
    /// Whether the requested precision was reached; `None` if none was requested.
    pub is_precise: Option<bool>,
}

pub(super) struct Trust {
    pub(super) met: Met,
    pub(super) is_settled: bool,
    pub(super) replications: usize,
    pub(super) is_precise: Option<bool>,
}

impl Outcome {
    /// Whether the SLO is certainly met.
    #[must_use]
    pub fn meets(&self) -> bool {
        self.met == Met::Yes
    }

    /// The outcome of either level's tally; its intervals are made of `parts`.
    pub(super) fn of(tally: &impl Ended, parts: &Parts, trust: &Trust) -> Self {
        let latency = tally.latency();
        let ns = |share: f64| {
            let known = parts.quantile(share).unwrap_or_else(|| Interval::unknown(latency.quantile(share)));
            known.scaled(1.0 / PS_PER_NS)
        };
        let &Trust { met, is_settled, replications, is_precise } = trust;
        Self {
            served_rps: parts.served_rps(tally.served_rps()),
            accepted: parts.accepted(tally.accepted()),
            nacks: tally.nacks(),
            met,
            is_unsettled: !is_settled,
            mean: parts.mean(latency.mean()).scaled(1.0 / PS_PER_NS),
            p50: ns(0.5),
            p90: ns(0.9),
            p99: ns(0.99),
            p999: ns(0.999),
            replications,
            is_precise,
        }
    }

    pub(super) fn doubt(&self, at: &str, precision: Option<f64>) -> Option<String> {
        self.is_unsettled.then(|| {
            format!(
                "note: {at} is unsettled: so few RPCs say little about a load that takes this long to settle; give more --rpcs"
            )
        })
        .or_else(|| self.imprecision(at, precision))
    }

    fn imprecision(&self, at: &str, precision: Option<f64>) -> Option<String> {
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
