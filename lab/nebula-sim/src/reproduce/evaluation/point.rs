//! The results of a case: at one load per replication, and at the highest rate that keeps the SLO.

use crate::blocks::{BlocksEstimate, RateAtSlo, Stage};
use crate::interval::Interval;
use crate::search::Bracket;
use nebula_nic::Span;

/// The rate in 10⁶ RPCs per second of a mean time between arrivals.
pub(in super::super) fn mrps(gap_ns: f64) -> f64 {
    1e3 / gap_ns
}

#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Shot {
    /// p99 of all RPCs. A NACK counts as an infinite latency.
    pub(in super::super) p99_ns: f64,
    /// Mean time from the start of service until the buffer is freed.
    pub(in super::super) service_ns: f64,
    /// Bytes to and from DRAM.
    pub(in super::super) gb_per_s: f64,
    pub(in super::super) accepted: f64,
    /// Share of RPCs dispatched to a core that was serving another RPC.
    pub(in super::super) queued_at_core: f64,
}

#[derive(Clone, Debug)]
pub(in super::super) struct Point {
    pub(in super::super) mrps: f64,
    pub(in super::super) shots: Vec<Shot>,
    /// Mean time of an RPC by stage, over all replications.
    pub(super) stages_ns: [f64; Stage::ALL.len()],
    /// Blocks that an RPC moves to and from DRAM.
    pub(super) blocks: f64,
}

impl Point {
    pub(super) fn of(mrps: f64, shown: &BlocksEstimate) -> Self {
        let shots = shown.replications.iter().map(|one| Shot {
            p99_ns: one.p99_ps_with_nacks / 1e3,
            service_ns: one.service_mean_ps / 1e3,
            gb_per_s: one.dram_gb_per_s,
            accepted: one.accepted,
            queued_at_core: one.queued_at_core,
        });
        let stages_ns = Stage::ALL.map(|stage| shown.tally.stage_ns(stage));
        Self { mrps, shots: shots.collect(), stages_ns, blocks: shown.tally.blocks_per_rpc() }
    }

    pub(in super::super) fn over(&self, figure: impl Fn(&Shot) -> f64) -> Interval {
        Interval::of(&self.shots.iter().map(figure).collect::<Vec<_>>()).not_negative()
    }

    pub(in super::super) fn p99_ns(&self) -> Interval {
        self.over(|shot| shot.p99_ns)
    }

    pub(in super::super) fn gb_per_s(&self) -> Interval {
        self.over(|shot| shot.gb_per_s)
    }

    pub(in super::super) fn service_ns(&self) -> Interval {
        self.over(|shot| shot.service_ns)
    }

    pub(in super::super) fn accepted(&self) -> Interval {
        self.over(|shot| shot.accepted)
    }

    pub(in super::super) fn queued_at_core(&self) -> Interval {
        self.over(|shot| shot.queued_at_core)
    }

    pub(super) fn is_missed_by_all(&self, slo: Span) -> bool {
        self.shots.iter().all(|shot| shot.p99_ns > slo.as_ns_f64())
    }
}

/// Compares two points by replication, since both had the same arrivals and keys.
pub(in super::super) fn over(one: &Point, other: &Point, compare: impl Fn(&Shot, &Shot) -> f64) -> Interval {
    let pairs = one.shots.iter().zip(&other.shots);
    Interval::of(&pairs.map(|(one, other)| compare(one, other)).collect::<Vec<_>>())
}

#[derive(Clone, Debug)]
pub(in super::super) struct Highest {
    mrps: Vec<f64>,
    /// The width of the search: a rate higher by this misses the SLO.
    width: f64,
    pub(in super::super) gb_per_s: Interval,
}

impl Highest {
    pub(super) fn of(found: &RateAtSlo, bracket: Bracket) -> Self {
        let mut width_rps = bracket.highest - bracket.lowest;
        while width_rps > bracket.width {
            width_rps /= 2.0;
        }
        let mrps = found.rates_rps.iter().map(|rps| rps / 1e6).collect();
        Self { mrps, width: width_rps / 1e6, gb_per_s: found.dram_gb_per_s }
    }

    /// The mean over the replications; the interval includes the width of the search.
    pub(in super::super) fn rate(&self) -> Interval {
        let rate = Interval::of(&self.mrps);
        Interval { hi: rate.hi + self.width, ..rate }
    }

    /// Compares by replication; `compare` rises with its first argument and falls with its second.
    pub(in super::super) fn compared(&self, other: &Self, compare: impl Fn(f64, f64) -> f64) -> Interval {
        let all = |above: f64, below: f64| {
            let pairs = self.mrps.iter().zip(&other.mrps);
            Interval::of(&pairs.map(|(&one, &other)| compare(one + above, other + below)).collect::<Vec<_>>())
        };
        Interval { lo: all(0.0, other.width).lo, hi: all(self.width, 0.0).hi, ..all(0.0, 0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn highest(mrps: [f64; 2]) -> Highest {
        Highest { mrps: mrps.into(), width: 0.5, gb_per_s: Interval::exact(1.0) }
    }

    #[test]
    fn a_search_is_no_surer_than_its_width() {
        let (one, other) = (highest([20.0, 20.0]), highest([10.0, 10.0]));
        assert_eq!(one.rate(), Interval { value: 20.0, lo: 20.0, hi: 20.5 });
        let gain = one.compared(&other, |one, other| one - other);
        assert_eq!(gain, Interval { value: 10.0, lo: 9.5, hi: 10.5 });
        let ratio = one.compared(&other, |one, other| one / other);
        assert!(ratio.value == 2.0 && ratio.lo < 1.91 && ratio.hi > 2.04, "{ratio:?}");
    }
}
