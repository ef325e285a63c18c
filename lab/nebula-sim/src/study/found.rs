//! The result of a point of the queueing level.

use super::detail::Detail;
use super::outcome::{Outcome, PS_PER_NS, Trust};
use super::over_time::OverTime;
use super::point::Point;
use super::text::with_half;
use crate::error::SimError;
use crate::experiment::{Counts, Estimate};
use crate::hottest::cores_differ;
use crate::interval::Interval;
use crate::search::crossing::{DECIDED, SearchEnd};
use crate::system::System;
use crate::tally::{CoreTime, HostTraffic, OfTier};
use nebula_ui::text::load;
use nebula_ui::units;

/// A point and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The point; after a search, at the load found.
    pub point: Point,
    /// The highest load that meets the SLO, if searched for and found.
    pub at_slo: Option<AtSlo>,
    /// `None` if no load meets the SLO.
    pub figures: Option<Figures>,
    /// Results over the period of a load that changes.
    pub over_time: Option<OverTime>,
    /// Results by tier, the front first; empty unless calls have parts, copies, deadlines or tiers.
    pub tiers: Vec<AtTier>,
    /// The data behind the figures; empty if there are none.
    pub detail: Detail,
}

/// The results of one tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtTier {
    /// The share of its cores' time that was busy.
    pub busy: Interval,
    /// Second copies over calls.
    pub copied: Interval,
    /// The share of that time spent on copies that did not answer first.
    pub wasted: Interval,
    /// NACKs over copies.
    pub nacked: Interval,
    /// Calls past their deadline when a core took them, over calls.
    pub late: Interval,
    /// p99 of the time from a call to its first answer, in nanoseconds.
    pub p99: Interval,
}

impl AtTier {
    pub(super) fn all(point: &Point, shown: &Estimate) -> Vec<Self> {
        let tally = &shown.tally;
        let at = |(index, ((tier, _), of)): (usize, ((&System, _), &OfTier))| {
            let cores = f64::from(tier.cores_total());
            let share = |value: f64, of: fn(&Counts) -> (f64, f64)| shown.by_run().of_tier(index, value, of);
            let busy = of.busy_ps as f64 / (tally.window.as_ps() as f64 * cores);
            Self {
                busy: shown.by_run().of_tier(index, busy, |of| (of.busy_ps, of.window_ps * cores)),
                copied: share(of.copied(), |of| (of.copies, of.calls)),
                wasted: share(of.wasted(), |of| (of.busy_ps - of.useful_ps, of.busy_ps)),
                nacked: share(of.nacked(), |of| (of.nacks, of.calls + of.copies)),
                late: share(of.late as f64 / of.calls.max(1) as f64, |of| (of.late, of.calls)),
                p99: shown.by_run().tier_p99(index).scaled(1.0 / PS_PER_NS),
            }
        };
        point.system.tiers(&point.load.service).zip(&tally.by_tier).enumerate().map(at).collect()
    }
}

/// The highest load that meets the SLO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtSlo {
    /// Share of the cores' capacity.
    pub load: Interval,
    /// RPCs served per second at that load.
    pub served_rps: Interval,
    /// Why the search ended there.
    pub end: SearchEnd,
}

impl AtSlo {
    /// The load with its interval; a lower bound if the true one may be higher.
    #[must_use]
    pub fn load_in_words(&self) -> String {
        match self.end {
            SearchEnd::Missed => with_half(self.load, load),
            SearchEnd::Highest | SearchEnd::Unsettled => format!("≥ {}", load(self.load.value)),
        }
    }
}

/// The results of an operating point; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The load: offered in an open loop, achieved in a closed loop.
    pub load: f64,
    /// RPCs measured in each replication.
    pub rpcs: u64,
    /// The slowdown (latency over service) that 99 % of the RPCs served do not exceed; `None`
    /// unless the service times are a mix.
    pub slowdown_p99: Option<Interval>,
    /// The same for 99.9 %.
    pub slowdown_p999: Option<Interval>,
    /// RPCs that arrived per second.
    pub offered_rps: f64,
    /// Served and NACKed RPCs, and their latencies.
    pub outcome: Outcome,
    /// Mean time from arrival until a core began.
    pub queued_mean: f64,
    /// p99 of the queueing time.
    pub queued_p99: f64,
    /// Mean number of waiting RPCs that an arrival finds.
    pub depth_mean: Interval,
    /// p99 of the number of waiting RPCs that an arrival finds.
    pub depth_p99: Interval,
    /// How the cores spent their time.
    pub core_time: CoreTime,
    /// The share of all cores' time that was not idle.
    pub busy: Interval,
    /// The intervals of the shares of `core_time`, in the order of [`CoreTime::NAMES`].
    pub core_times: [Interval; CoreTime::NAMES.len()],
    /// Lines between cores and NIC, with a host interface.
    pub host: HostTraffic,
    /// The busiest core's share of busy time; `None` unless flows, keys or speeds make cores
    /// differ.
    pub hottest: Option<Interval>,
    /// The share served of light flows, below the mean; `None` without such flows or refusals.
    pub accepted_light: Option<Interval>,
}

impl Figures {
    pub(super) fn of(point: &Point, shown: &Estimate) -> Result<Self, SimError> {
        let (tally, by_run) = (&shown.tally, shown.by_run());
        let core_time = tally.core_time(&point.system);
        let capacity_rps = point.system.rps_max(&point.load.service);
        let offered_rps = point.load.rate(&point.system)?.map_or(tally.offered_rps(), |rate| rate.as_rps());
        let slowdown = |share| shown.slowdown(share).map(|thousandths| thousandths.scaled(1e-3));
        Ok(Self {
            load: point.offered().unwrap_or(tally.served_rps() / capacity_rps),
            rpcs: shown.length.rpcs,
            slowdown_p99: slowdown(0.99),
            slowdown_p999: slowdown(0.999),
            offered_rps,
            outcome: Outcome::of(
                tally,
                shown.parts(),
                &Trust {
                    met: shown.met(point.slo),
                    is_settled: shown.is_settled,
                    replications: shown.replications(),
                    is_precise: shown.is_precise,
                },
            ),
            queued_mean: tally.queued.mean() / PS_PER_NS,
            queued_p99: tally.queued.quantile(0.99) / PS_PER_NS,
            depth_mean: Interval::of_positive(&shown.depth_mean),
            depth_p99: Interval::of_positive(&shown.depth_p99),
            core_time,
            busy: by_run.core_time(core_time.busy(), CoreTime::busy),
            core_times: std::array::from_fn(|kind| {
                by_run.core_time(core_time.shares()[kind], |spent| spent.shares()[kind])
            }),
            host: tally.host,
            hottest: cores_differ(&point.system, &point.load).then(|| by_run.hottest(tally.hottest())),
            accepted_light: tally.light.and_then(|light| light.accepted()).map(|share| by_run.accepted_light(share)),
        })
    }
}

impl Found {
    /// A warning about the result, in one line.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let name = &self.point.name;
        match (self.figures, self.at_slo) {
            (None, _) => Some(format!("note: {name} keeps the SLO of {} at no load", units::span(self.point.slo))),
            (_, Some(at)) if at.end == SearchEnd::Highest => {
                Some(format!("note: {name} keeps the SLO at the highest load that was tried, {}", load(at.load.value)))
            }
            (_, Some(at)) if at.end == SearchEnd::Unsettled => Some(format!(
                "note: {name} keeps the SLO up to a load of {}, above which so few RPCs do not settle; give more --rpcs",
                load(at.load.value)
            )),
            (Some(Figures { outcome: Outcome { is_precise: Some(false), replications, .. }, .. }), Some(at)) => {
                let (known, wanted) = (at.load.relative(), self.point.effort.precision.unwrap_or(DECIDED));
                let [known, wanted] = [known, wanted].map(units::percent);
                Some(format!(
                    "note: {name}: the load is known to {known} after {replications} replications, not to {wanted}; give more --rpcs"
                ))
            }
            (Some(figures), _) => {
                let at = format!("{name} at load {}", load(figures.load));
                figures.outcome.doubt(&at, self.point.effort.precision)
            }
        }
    }
}
