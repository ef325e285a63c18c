//! The results of designs at rates, and warnings about them.

use super::super::outcome::{Outcome, PS_PER_NS, Trust};
use super::super::text::with_half;
use super::super::units;
use super::point::Setting;
use crate::blocks::{BlocksEstimate, Part, Stage};
use crate::interval::Interval;
use crate::search::crossing::{DECIDED, SearchEnd};
use nebula_memsys::Cause;
use nebula_nic::Span;
use std::sync::Arc;

/// The results of a study.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The setting that all results share.
    pub setting: Arc<Setting>,
    /// By design, each in the order of its rates.
    pub found: Vec<Found>,
}

/// One design at one rate, and its result.
#[derive(Clone, Debug)]
pub struct Found {
    /// The setting that it shares with the other results.
    pub setting: Arc<Setting>,
    /// The design's name.
    pub design: String,
    /// Bytes of the design's shared receive buffer.
    pub receive_buffer_bytes: u32,
    /// RPCs per second, offered or found by a search.
    pub rate_rps: Option<f64>,
    /// The highest rate that meets the SLO, if searched for and found.
    pub at_slo: Option<AtSlo>,
    /// `None` if no rate meets the SLO.
    pub figures: Option<Figures>,
}

/// The highest rate that meets the SLO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtSlo {
    /// RPCs per second.
    pub rate_rps: Interval,
    /// Why the search ended there.
    pub end: SearchEnd,
}

impl AtSlo {
    /// The rate with its interval; a lower bound if the true one may be higher.
    #[must_use]
    pub fn rate_in_words(&self) -> String {
        match self.end {
            SearchEnd::Missed => with_half(self.rate_rps, units::rate),
            SearchEnd::Highest | SearchEnd::Unsettled => format!("≥ {}", units::rate(self.rate_rps.value)),
        }
    }
}

/// The results at one rate; times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Served and NACKed RPCs, and their latencies.
    pub outcome: Outcome,
    /// Mean time from the start of service until the buffer is free.
    pub service_mean: Interval,
    /// Mean number of waiting RPCs when an RPC's last block has arrived.
    pub depth_mean: Interval,
    /// p99 of the number of waiting RPCs.
    pub depth_p99: Interval,
    /// Mean and largest number of RPCs in the reassembler when it takes one.
    pub incomplete: [f64; 2],
    /// Share of the served RPCs dispatched to a core that was serving another, in 0 to 1.
    pub queued_at_core: Interval,
    /// Share of all cores' time spent on no RPC, in 0 to 1.
    pub idle: Interval,
    /// Mean time in each stage, in the order of [`Stage::ALL`].
    pub stages: [f64; Stage::ALL.len()],
    /// DRAM traffic in 10⁹ bytes per second.
    pub dram_gb_per_s: Interval,
    /// DRAM blocks per arrived RPC, by [`Part::ALL`] and [`Cause::ALL`].
    pub blocks: [[f64; Cause::ALL.len()]; Part::ALL.len()],
    /// All DRAM blocks per arrived RPC.
    pub blocks_per_rpc: Interval,
}

impl Figures {
    pub(super) fn of(slo: Span, shown: &BlocksEstimate) -> Self {
        let tally = &shown.tally;
        let per_rpc = |blocks: u64| blocks as f64 / tally.arrived.max(1) as f64;
        Self {
            outcome: Outcome::of(
                tally,
                shown.parts(),
                &Trust {
                    met: shown.met(slo),
                    is_settled: shown.is_settled,
                    replications: shown.replications.len(),
                    is_precise: shown.is_precise,
                },
            ),
            service_mean: shown.around(tally.service.mean(), |one| one.service_mean_ps).scaled(1.0 / PS_PER_NS),
            depth_mean: shown.around(tally.queue_depth.mean(), |one| one.depth_mean),
            depth_p99: shown.around(tally.queue_depth.quantile(0.99), |one| one.depth_p99),
            incomplete: [tally.incomplete.mean(), tally.incomplete.quantile(1.0)],
            queued_at_core: shown.around(tally.queued_at_core_share(), |one| one.queued_at_core),
            idle: shown.around(shown.over(|one| one.idle).value, |one| one.idle),
            stages: Stage::ALL.map(|stage| tally.stage_ns(stage)),
            dram_gb_per_s: shown.dram_gb_per_s(),
            blocks: Part::ALL.map(|part| Cause::ALL.map(|cause| per_rpc(tally.traffic.blocks(part.label(), cause)))),
            blocks_per_rpc: shown.around(tally.blocks_per_rpc(), |one| one.blocks_per_rpc),
        }
    }

    /// The bandwidth of one block per RPC, in 10⁹ bytes per second.
    #[must_use]
    pub fn gb_per_s_of_block(&self) -> f64 {
        if self.blocks_per_rpc.value == 0.0 { 0.0 } else { self.dram_gb_per_s.value / self.blocks_per_rpc.value }
    }
}

impl Findings {
    /// The results that have figures.
    pub fn shown(&self) -> impl Iterator<Item = (&Found, &Figures)> {
        self.found.iter().filter_map(|found| Some((found, found.figures.as_ref()?)))
    }

    /// Warnings, a line each; points past saturation share one.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let (past, others): (Vec<&Found>, Vec<&Found>) =
            self.found.iter().partition(|found| found.is_past_saturation());
        let name = |found: &&Found| format!("{} at {}", found.design, found.rate_in_words());
        let names = past.iter().map(name).collect::<Vec<_>>().join(", ");
        let line = (!past.is_empty())
            .then(|| format!("note: past saturation latencies grow with --rpcs, and so it is with {names} RPC/s"));
        line.into_iter().chain(others.into_iter().filter_map(Found::doubt)).collect()
    }
}

impl Found {
    /// At ten times the SLO, a hundred times the service, the queue grows throughout the run.
    fn is_past_saturation(&self) -> bool {
        let is_late = |figures: &Figures| figures.outcome.p99.value > 10.0 * self.setting.slo.as_ns_f64();
        self.at_slo.is_none() && self.figures.as_ref().is_some_and(is_late)
    }

    fn rate_in_words(&self) -> String {
        self.rate_rps.map_or(String::new(), units::rate)
    }

    fn doubt(&self) -> Option<String> {
        let (design, rate) = (&self.design, self.rate_in_words());
        match (&self.figures, self.at_slo) {
            (None, _) => Some(format!("note: {design} keeps the SLO of {} at no rate", units::span(self.setting.slo))),
            (_, Some(at)) if at.end == SearchEnd::Highest => {
                Some(format!("note: {design} keeps the SLO at the highest rate that was tried, {rate} RPC/s"))
            }
            (_, Some(at)) if at.end == SearchEnd::Unsettled => Some(format!(
                "note: {design} keeps the SLO up to {rate} RPC/s, above which so few RPCs do not settle; give more --rpcs"
            )),
            (Some(Figures { outcome: Outcome { is_precise: Some(false), replications, .. }, .. }), Some(at)) => {
                let (known, wanted) = (at.rate_rps.relative(), self.setting.effort.precision.unwrap_or(DECIDED));
                let [known, wanted] = [known, wanted].map(units::percent);
                Some(format!(
                    "note: {design}: the rate is known to {known} after {replications} replications, not to {wanted}; give more --rpcs"
                ))
            }
            (Some(figures), _) => {
                figures.outcome.doubt(&format!("{design} at {rate} RPC/s"), self.setting.effort.precision)
            }
        }
    }
}
