//! Every design at every rate, side by side on all cores: what each shows is small, whatever the number of RPCs.

use nebula_memsys::Cause;
use nebula_sim::Interval;
use nebula_sim::blocks::{
    BlocksError, BlocksEstimate, Part, RateAtSlo, RateBracket, Scenario, Stage, estimate, rate_at_slo,
};
use nebula_workload::Rate;
use rayon::prelude::*;

use super::super::measure::{Pool, advance};
use super::plan::{Plan, Point, Setting};
use crate::output::Failure;

/// All that was found.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub(crate) setting: Setting,
    /// Design by design, each in the order of the rates asked for.
    pub(crate) found: Vec<Found>,
}

/// One design at one rate, and what it has shown.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) design: String,
    /// Offered, or found.
    pub(crate) rate_rps: Option<f64>,
    /// The highest rate that keeps the SLO, if that was searched for and there is one.
    pub(crate) at_slo: Option<AtSlo>,
    /// `None` where no rate keeps the SLO.
    pub(crate) figures: Option<Figures>,
}

/// The highest rate that keeps the SLO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtSlo {
    pub(crate) rate_rps: Interval,
    /// The search ended at its highest rate: the true one may be higher.
    pub(crate) is_lower_bound: bool,
}

/// What was shown, times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) served_rps: f64,
    pub(crate) accepted: f64,
    pub(crate) nacks: u64,
    pub(crate) meets_slo: bool,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: Interval,
    pub(crate) p999: f64,
    pub(crate) service_mean: f64,
    pub(crate) depth_mean: f64,
    pub(crate) depth_p99: f64,
    pub(crate) queued_at_core: f64,
    /// Mean time in each stage, in the order of [`Stage::ALL`].
    pub(crate) stages: [f64; Stage::ALL.len()],
    pub(crate) dram_gb_per_s: Interval,
    /// Blocks for each RPC that came, by [`Part::ALL`] and [`Cause::ALL`].
    pub(crate) blocks: [[f64; Cause::ALL.len()]; Part::ALL.len()],
    pub(crate) blocks_per_rpc: f64,
    pub(crate) replications: usize,
    pub(crate) is_precise: Option<bool>,
}

impl Pool {
    /// Runs all points; results stand in the order of the points.
    ///
    /// # Errors
    ///
    /// Of the first point that cannot be simulated.
    pub(super) fn measure_blocks(&self, plan: Plan) -> Result<Findings, Failure> {
        let Plan { setting, points } = plan;
        let runs = if setting.searches { 2 } else { 1 };
        let bar = self.bar(runs * points.len() as u64 * u64::from(setting.effort.replications));
        let replicated = || advance(&bar);
        let one = |point: &Point| point.measure(&setting, &replicated);
        let found: Result<Vec<Found>, BlocksError> = self.install(|| points.par_iter().map(one).collect());
        bar.finish_and_clear();
        Ok(Findings { found: found?, setting })
    }
}

impl Point {
    fn measure(&self, setting: &Setting, replicated: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        match self.rate {
            Some(rate) => show(&self.scenario, rate, setting, replicated),
            None => search(&self.scenario, setting, replicated),
        }
    }
}

fn show(
    scenario: &Scenario,
    rate: Rate,
    setting: &Setting,
    replicated: &(dyn Fn() + Sync),
) -> Result<Found, BlocksError> {
    let shown = estimate(scenario, rate, &setting.effort, replicated)?;
    Ok(Found {
        design: scenario.design.name.clone(),
        rate_rps: Some(rate.as_rps()),
        at_slo: None,
        figures: Some(Figures::of(setting, &shown)),
    })
}

/// Searches first, and then looks at what the rate found shows.
fn search(scenario: &Scenario, setting: &Setting, replicated: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
    let bracket = RateBracket::of(scenario, setting.effort.seed)?;
    let RateAtSlo { rate_rps, .. } = match rate_at_slo(scenario, setting.slo, bracket, &setting.effort, replicated) {
        Err(BlocksError::Slo { .. }) => {
            let design = scenario.design.name.clone();
            return Ok(Found { design, rate_rps: None, at_slo: None, figures: None });
        }
        found => found?,
    };
    let mut found = show(scenario, Rate::try_new(rate_rps.value)?, setting, replicated)?;
    let is_lower_bound = rate_rps.value >= bracket.highest_rps - bracket.width_rps;
    found.at_slo = Some(AtSlo { rate_rps, is_lower_bound });
    if let Some(figures) = &mut found.figures {
        // By what the search has found; its p99 there lies on either side of the SLO, by chance.
        figures.meets_slo = true;
    }
    Ok(found)
}

impl Figures {
    fn of(setting: &Setting, shown: &BlocksEstimate) -> Self {
        let tally = &shown.tally;
        let ns = |share: f64| tally.latency.quantile(share) / PS_PER_NS;
        let per_rpc = |blocks: u64| blocks as f64 / tally.arrived.max(1) as f64;
        Self {
            served_rps: tally.served_rps(),
            accepted: tally.accepted(),
            nacks: tally.nacked,
            meets_slo: shown.meets(setting.slo),
            mean: tally.latency.mean() / PS_PER_NS,
            p50: ns(0.5),
            p90: ns(0.9),
            p99: shown.p99().scaled(1.0 / PS_PER_NS),
            p999: ns(0.999),
            service_mean: tally.service.mean() / PS_PER_NS,
            depth_mean: tally.queue_depth.mean(),
            depth_p99: tally.queue_depth.quantile(0.99),
            queued_at_core: tally.queued_at_core_share(),
            stages: Stage::ALL.map(|stage| tally.stage_ns(stage)),
            dram_gb_per_s: shown.dram_gb_per_s(),
            blocks: Part::ALL.map(|part| Cause::ALL.map(|cause| per_rpc(tally.traffic.blocks(part.label(), cause)))),
            blocks_per_rpc: tally.blocks_per_rpc(),
            replications: shown.replications.len(),
            is_precise: shown.is_precise,
        }
    }

    /// The bandwidth of one block for each RPC.
    pub(crate) fn gb_per_s_of_block(&self) -> f64 {
        if self.blocks_per_rpc == 0.0 { 0.0 } else { self.dram_gb_per_s.value / self.blocks_per_rpc }
    }
}

const PS_PER_NS: f64 = 1000.0;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nebula_nic::Span;
    use nebula_sim::Effort;
    use nebula_sim::blocks::Machine;

    /// Two designs at two rates, or at the highest that keeps the SLO; the first design's second rate is far past saturation.
    pub(crate) fn findings(searches: bool) -> Findings {
        let figures = |p99: f64, accepted: f64| Figures {
            served_rps: 5e6,
            accepted,
            nacks: 0,
            meets_slo: p99 <= 6300.0 && accepted >= 0.99,
            mean: 800.0,
            p50: 700.0,
            p90: 1100.0,
            p99: Interval { value: p99, lo: 0.9 * p99, hi: 1.1 * p99 },
            p999: 2.0 * p99,
            service_mean: 650.0,
            depth_mean: 0.1,
            depth_p99: 2.0,
            queued_at_core: 0.25,
            stages: [40.0, 20.0, 90.0, 30.0, 110.0, 150.0, 0.0, 60.0, 290.0, 10.0],
            dram_gb_per_s: Interval { value: 11.0, lo: 10.9, hi: 11.1 },
            blocks: Part::ALL.map(|part| if part == Part::State { [0.0; 5] } else { [1.0, 2.0, 3.0, 4.0, 0.0] }),
            blocks_per_rpc: 60.0,
            replications: 2,
            is_precise: None,
        };
        let one = |design: &str, rate: f64, p99: f64, accepted: f64| Found {
            design: design.to_owned(),
            rate_rps: Some(rate),
            at_slo: searches.then_some(AtSlo {
                rate_rps: Interval { value: rate, lo: 0.99 * rate, hi: 1.01 * rate },
                is_lower_bound: false,
            }),
            figures: Some(figures(p99, accepted)),
        };
        let setting = Setting {
            machine: Machine::named("isca20").unwrap(),
            application: "kvs".to_owned(),
            store: Some((0.5, 512)),
            arrivals: "poisson".to_owned(),
            hog_gb_per_s: 0.0,
            slo: Span::from_ns(6300),
            effort: Effort::default(),
            searches,
        };
        let mut found = vec![one("<rss>", 5e6, 1800.0, 1.0), one("<rss>", 20e6, 4e6, 0.7)];
        found.extend([one("nebula", 5e6, 1100.0, 1.0), one("nebula", 20e6, 1500.0, 1.0)]);
        Findings { setting, found }
    }

    #[test]
    fn the_bandwidth_of_all_blocks_is_that_of_dram() {
        let found = findings(false).found;
        let figures = found[0].figures.as_ref().unwrap();
        assert!((figures.gb_per_s_of_block() * figures.blocks_per_rpc - 11.0).abs() < 1e-9);
    }
}
