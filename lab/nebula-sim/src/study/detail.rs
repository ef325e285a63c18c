//! The data behind a point's figures: each replication, and the latency's distribution.

use super::outcome::PS_PER_NS;
use crate::experiment::Estimate;

/// The data behind a point's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The replications, in order.
    pub replications: Vec<Replication>,
    /// The latencies of the RPCs served in all replications: cells with RPCs, in ascending order.
    pub latency: Vec<Bin>,
}

/// The results of one replication; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replication {
    /// Mean latency of the RPCs served.
    pub mean: f64,
    /// p99 of their latency.
    pub p99: f64,
    /// p99 of all RPCs, a NACK counted as infinite.
    pub p99_with_nacks: f64,
    /// Mean number of waiting RPCs that an arrival finds.
    pub depth_mean: f64,
    /// p99 of that number.
    pub depth_p99: f64,
}

/// A cell of a distribution of times in nanoseconds, as wide as three significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lowest time in it.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// RPCs in it.
    pub count: u64,
}

impl Detail {
    pub(super) fn of(shown: &Estimate) -> Self {
        let at = |index: usize| Replication {
            mean: shown.mean_ps[index] / PS_PER_NS,
            p99: shown.p99_ps[index] / PS_PER_NS,
            p99_with_nacks: shown.p99_ps_with_nacks[index] / PS_PER_NS,
            depth_mean: shown.depth_mean[index],
            depth_p99: shown.depth_p99[index],
        };
        let bin = |(from, to, count): (u64, u64, u64)| Bin {
            from: from as f64 / PS_PER_NS,
            to: to as f64 / PS_PER_NS,
            count,
        };
        Self {
            replications: (0..shown.replications()).map(at).collect(),
            latency: shown.tally.latency.cells().map(bin).collect(),
        }
    }
}
