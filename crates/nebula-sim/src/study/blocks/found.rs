//! What designs have shown at rates, and what makes that doubtful.

use super::super::outcome::{Outcome, PS_PER_NS};
use super::super::units;
use super::point::Setting;
use crate::blocks::{BlocksEstimate, Part, Stage};
use crate::interval::Interval;
use nebula_memsys::Cause;
use nebula_nic::Span;
use std::sync::Arc;

/// All that was found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// What all have in common.
    pub setting: Arc<Setting>,
    /// Design by design, each in the order of the rates asked for.
    pub found: Vec<Found>,
}

/// One design at one rate, and what it has shown.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it has in common with the others.
    pub setting: Arc<Setting>,
    /// The design's name.
    pub design: String,
    /// RPCs a second, offered or found.
    pub rate_rps: Option<f64>,
    /// The highest rate that keeps the SLO, if that was searched for and there is one.
    pub at_slo: Option<AtSlo>,
    /// `None` where no rate keeps the SLO.
    pub figures: Option<Figures>,
}

/// The highest rate that keeps the SLO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtSlo {
    /// RPCs a second.
    pub rate_rps: Interval,
    /// The search ended at its highest rate: the true one may be higher.
    pub is_lower_bound: bool,
}

/// What was shown, times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// What became of the RPCs.
    pub outcome: Outcome,
    /// Mean time from the moment that a core begins until the buffer is free.
    pub service_mean: f64,
    /// Mean of the RPCs that one finds waiting when it is whole.
    pub depth_mean: f64,
    /// RPCs that 99 of 100 find waiting at most.
    pub depth_p99: f64,
    /// Share of the RPCs served that were given to a core which served another one, in 0 to 1.
    pub queued_at_core: f64,
    /// Mean time in each stage, in the order of [`Stage::ALL`].
    pub stages: [f64; Stage::ALL.len()],
    /// To and from DRAM, in 10⁹ bytes a second.
    pub dram_gb_per_s: Interval,
    /// Blocks for each RPC that came, by [`Part::ALL`] and [`Cause::ALL`].
    pub blocks: [[f64; Cause::ALL.len()]; Part::ALL.len()],
    /// All blocks for each RPC that came.
    pub blocks_per_rpc: f64,
}

impl Figures {
    pub(super) fn of(slo: Span, shown: &BlocksEstimate) -> Self {
        let tally = &shown.tally;
        let per_rpc = |blocks: u64| blocks as f64 / tally.arrived.max(1) as f64;
        Self {
            outcome: Outcome::of(tally, shown.meets(slo), shown.replications.len(), shown.is_precise, shown.p99()),
            service_mean: tally.service.mean() / PS_PER_NS,
            depth_mean: tally.queue_depth.mean(),
            depth_p99: tally.queue_depth.quantile(0.99),
            queued_at_core: tally.queued_at_core_share(),
            stages: Stage::ALL.map(|stage| tally.stage_ns(stage)),
            dram_gb_per_s: shown.dram_gb_per_s(),
            blocks: Part::ALL.map(|part| Cause::ALL.map(|cause| per_rpc(tally.traffic.blocks(part.label(), cause)))),
            blocks_per_rpc: tally.blocks_per_rpc(),
        }
    }

    /// The bandwidth of one block for each RPC, in 10⁹ bytes a second.
    #[must_use]
    pub fn gb_per_s_of_block(&self) -> f64 {
        if self.blocks_per_rpc == 0.0 { 0.0 } else { self.dram_gb_per_s.value / self.blocks_per_rpc }
    }
}

impl Findings {
    /// What has shown figures.
    pub fn shown(&self) -> impl Iterator<Item = (&Found, &Figures)> {
        self.found.iter().filter_map(|found| Some((found, found.figures.as_ref()?)))
    }

    /// What makes them doubtful, a line each, but one for all that are past saturation.
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
    /// A p99 of ten times the SLO, a hundred times the service, is that of a queue that grows as long as the run lasts.
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
            (_, Some(at)) if at.is_lower_bound => {
                Some(format!("note: {design} keeps the SLO at the highest rate that was tried, {rate} RPC/s"))
            }
            (Some(figures), _) => {
                figures.outcome.imprecision(&format!("{design} at {rate} RPC/s"), self.setting.effort.precision)
            }
        }
    }
}
