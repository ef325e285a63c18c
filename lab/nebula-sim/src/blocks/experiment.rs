//! Operating points with error bars, and the highest rate that meets the SLO.
//!
//! Replication `i` uses the seed's replica `i`. Designs with the same seed receive the same
//! arrivals and keys.

use super::design::Design;
use super::error::BlocksError;
use super::machine::ps_of;
use super::scenario::Scenario;
use super::tally::BlocksTally;
use super::world::Runner;
use crate::executor::{replications, try_each};
use crate::experiment::effort::Effort;
use crate::experiment::met::Met;
use crate::experiment::parts::Parts;
use crate::interval::Interval;
use crate::interval::ratio::Ratio;
use crate::search::Bracket;
use crate::tally::distribution::Distribution;
use crate::tally::sections::Section;
use crate::world::length::Length;
use nebula_nic::{SLOT_BYTES, Span};
use nebula_workload::{Rate, Seed};

/// The results of an operating point.
#[derive(Clone, Debug)]
pub struct BlocksEstimate {
    /// The sum of all replications.
    pub tally: BlocksTally,
    /// The results of each replication.
    pub replications: Vec<Figures>,
    /// Whether so much was simulated that the intervals hold; otherwise the point is *unsettled*.
    pub is_settled: bool,
    /// Whether the requested precision was reached; `None` if none was requested.
    pub is_precise: Option<bool>,
    parts: Parts,
}

/// The results of one replication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// p99 in picoseconds, of the RPCs served.
    pub p99_ps: f64,
    /// p99 in picoseconds of all RPCs; a NACK counts as infinite.
    pub p99_ps_with_nacks: f64,
    /// Mean latency in picoseconds.
    pub mean_ps: f64,
    /// Mean service time in picoseconds.
    pub service_mean_ps: f64,
    /// DRAM traffic in 10⁹ bytes per second.
    pub dram_gb_per_s: f64,
    /// Share of RPCs that were served.
    pub accepted: f64,
    /// Share of RPCs that were dispatched to a core which was serving another RPC.
    pub queued_at_core: f64,
    /// DRAM blocks for each RPC that arrived.
    pub blocks_per_rpc: f64,
    /// Mean number of RPCs that a complete RPC finds waiting at the NIC.
    pub depth_mean: f64,
    /// p99 of that number.
    pub depth_p99: f64,
    /// Mean number of RPCs that the reassembler holds when it takes one.
    pub incomplete_mean: f64,
    /// The largest such number.
    pub incomplete_max: f64,
    /// RPCs served per second.
    pub served_rps: f64,
    /// Share of the cores' time that they spend on no RPC.
    pub idle: f64,
    /// How far the server fell behind in the window, in picoseconds: [`BlocksTally::lag_ps`].
    pub lag_ps: f64,
}

impl Figures {
    fn of(tally: &BlocksTally, cores: u16) -> Self {
        Self {
            p99_ps: tally.latency.quantile(0.99),
            p99_ps_with_nacks: tally.latency_with_nacks(0.99),
            mean_ps: tally.latency.mean(),
            service_mean_ps: tally.service.mean(),
            dram_gb_per_s: tally.dram_gb_per_s(),
            accepted: tally.accepted(),
            queued_at_core: tally.queued_at_core_share(),
            blocks_per_rpc: tally.blocks_per_rpc(),
            depth_mean: tally.queue_depth.mean(),
            depth_p99: tally.queue_depth.quantile(0.99),
            incomplete_mean: tally.incomplete.mean(),
            incomplete_max: tally.incomplete.quantile(1.0),
            served_rps: tally.served_rps(),
            idle: tally.idle_share(cores),
            lag_ps: tally.lag_ps(),
        }
    }
}

impl BlocksEstimate {
    fn empty() -> Self {
        let (tally, parts) = (BlocksTally::new(), Parts::default());
        Self { tally, replications: Vec::new(), is_settled: false, is_precise: None, parts }
    }

    /// A figure of all replications that is not negative, with its interval.
    #[must_use]
    pub fn over(&self, figure: impl Fn(&Figures) -> f64) -> Interval {
        Interval::of(&self.replications.iter().map(figure).collect::<Vec<_>>()).not_negative()
    }

    /// The interval of `value`, a figure of all RPCs together that is not negative.
    pub(crate) fn around(&self, value: f64, figure: impl Fn(&Figures) -> f64) -> Interval {
        let found = Interval::of_positive(&self.replications.iter().map(figure).collect::<Vec<_>>());
        Interval { value, lo: found.lo.min(value), hi: found.hi.max(value) }
    }

    /// The p99 in picoseconds, of the RPCs served.
    #[must_use]
    pub fn p99(&self) -> Interval {
        self.over(|figures| figures.p99_ps)
    }

    /// DRAM traffic in 10⁹ bytes per second.
    #[must_use]
    pub fn dram_gb_per_s(&self) -> Interval {
        self.over(|figures| figures.dram_gb_per_s)
    }

    /// Whether the p99 of all RPCs, with NACKs as infinite, meets the SLO, and the server falls
    /// behind by less than the SLO while it is measured.
    #[must_use]
    pub fn met(&self, slo: Span) -> Met {
        if self.falls_behind(slo) { Met::No } else { Met::of(&self.late(slo), self.is_settled) }
    }

    /// Whether the server falls behind by more than the SLO while it is measured.
    pub(super) fn falls_behind(&self, slo: Span) -> bool {
        self.over(|figures| figures.lag_ps).value > slo.as_ps() as f64
    }

    pub(super) fn late(&self, slo: Span) -> Ratio {
        self.parts.late(slo)
    }

    /// Whether it is certain that the SLO is met: [`Met::Yes`].
    #[must_use]
    pub fn meets(&self, slo: Span) -> bool {
        self.met(slo) == Met::Yes
    }

    pub(crate) const fn parts(&self) -> &Parts {
        &self.parts
    }

    fn take(&mut self, tally: &BlocksTally, cores: u16) {
        self.replications.push(Figures::of(tally, cores));
        self.tally.add(tally);
        let mut none = Distribution::new();
        self.parts.extend([Section {
            ended: tally.ended(),
            served: tally.served,
            window_ps: tally.window.as_ps(),
            latency: tally.latency.since(&mut none),
            latency_ps: tally.latency.sum() as f64,
            ..Section::default()
        }]);
    }

    /// A server that falls behind by a hundredth of the window has not settled.
    fn settle(&mut self) {
        const LAG_MAX: f64 = 0.01;
        let window_ps = self.tally.window.as_ps() as f64 / self.replications.len() as f64;
        let keeps_up = self.over(|figures| figures.lag_ps).value <= LAG_MAX * window_ps;
        self.is_settled = keeps_up && self.parts.is_tail_seen(self.tally.latency_with_nacks(0.99));
    }
}

/// The length of one replication. Unless set, the warm-up lasts until RPCs have filled the LLC.
fn length(scenario: &Scenario, effort: &Effort) -> Length {
    /// Least number of blocks that an RPC brings into the LLC.
    const BLOCKS_PER_RPC: u64 = 6;
    let filled = scenario.machine.memory.llc.bytes / u64::from(SLOT_BYTES) / BLOCKS_PER_RPC;
    Length { warmup: effort.warmup.unwrap_or(filled.max(effort.rpcs / 10)), rpcs: effort.rpcs }
}

/// Runs replications of one operating point until the effort is spent or its precision reached.
///
/// `progress` is called after each replication, on the thread that ran it.
///
/// # Errors
///
/// [`BlocksError`] of the first replication that fails.
pub fn estimate(
    scenario: &Scenario,
    rate: Rate,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<BlocksEstimate, BlocksError> {
    effort.validate()?;
    let runner = Runner::try_new(scenario)?;
    let mut shown = BlocksEstimate::empty();
    let mut first = 0;
    loop {
        let last = first + effort.replications;
        let one = |&index: &u32| {
            let tally = runner.run(rate, length(scenario, effort), effort.seed.replica(index.into()));
            progress();
            tally
        };
        let tallies: Vec<BlocksTally> = try_each(&replications(first..last), one)?;
        tallies.iter().for_each(|tally| shown.take(tally, scenario.machine.memory.cores));
        shown.settle();
        let Some(precision) = effort.precision else { return Ok(shown) };
        let is_precise = shown.p99().relative() <= precision;
        if is_precise || last >= effort.replications_max {
            shown.is_precise = Some(is_precise);
            return Ok(shown);
        }
        first = last;
    }
}

/// As [`estimate`] without a precision; `None` once one replication has over 1 % of all RPCs late.
pub(super) fn estimate_unless_late(
    scenario: &Scenario,
    slo: Span,
    rate: Rate,
    effort: &Effort,
) -> Result<Option<BlocksEstimate>, BlocksError> {
    let (runner, length) = (Runner::try_new(scenario)?, length(scenario, effort));
    let late_max = length.rpcs * u64::from(effort.replications) / 100;
    let one = |&index: &u32| runner.run_until(slo, late_max, rate, length, effort.seed.replica(index.into()));
    let tallies: Vec<BlocksTally> = try_each(&replications(0..effort.replications), one)?;
    if tallies.iter().any(|tally| tally.ended() < length.rpcs) {
        return Ok(None);
    }
    let mut shown = BlocksEstimate::empty();
    tallies.iter().for_each(|tally| shown.take(tally, scenario.machine.memory.cores));
    shown.settle();
    Ok(Some(shown))
}

/// The mean service time of an RPC alone in the server, until its buffer is free, in picoseconds.
///
/// # Errors
///
/// Those of [`estimate`].
pub fn service_time(scenario: &Scenario, effort: &Effort) -> Result<Interval, BlocksError> {
    /// RPCs per second per core: one RPC in a hundred microseconds.
    const ALONE_RPS_PER_CORE: f64 = 1e4;
    let rate = Rate::try_new(ALONE_RPS_PER_CORE * f64::from(scenario.machine.memory.cores))?;
    Ok(estimate(scenario, rate, effort, &|| ())?.over(|figures| figures.service_mean_ps))
}

impl Scenario {
    /// The SLO for all designs: `multiple` times the mean service time of an RPC alone in the
    /// server under `nebula-base`; ten times in NEBULA §VI.
    ///
    /// # Errors
    ///
    /// Those of [`estimate`].
    pub fn slo(&self, multiple: f64, seed: Seed) -> Result<Span, BlocksError> {
        let design = Design::named("nebula-base").unwrap_or_else(|| self.design.clone());
        let alone = Self { design, hog_gb_per_s: 0.0, ..self.clone() };
        let effort = Effort::default().rpcs(5_000).replications(2).seed(seed);
        let mean_ps = service_time(&alone, &effort)?.value;
        Ok(Span::from_ps(ps_of(multiple * mean_ps / 1e3)))
    }

    /// Rates to search, from 0.02 to 1.3 times the one that saturates the cores at the service time
    /// of an RPC alone in the server, with a resolution of 1/200 of that rate.
    ///
    /// # Errors
    ///
    /// Those of [`estimate`].
    pub fn bracket(&self, seed: Seed) -> Result<Bracket, BlocksError> {
        let effort = Effort::default().rpcs(5_000).replications(2).seed(seed);
        let mean_ps = service_time(self, &effort)?.value;
        let capacity_rps = f64::from(self.machine.memory.cores) * 1e12 / mean_ps;
        // Steering shortens the service time under load, which an RPC alone does not show.
        let highest = 1.3 * capacity_rps;
        Ok(Bracket { lowest: 0.02 * capacity_rps, highest, width: capacity_rps / 200.0 })
    }
}

/// The highest rate that meets an SLO.
#[derive(Clone, Debug)]
pub struct RateAtSlo {
    /// Offered RPCs per second, with the interval.
    pub rate_rps: Interval,
    /// The rate that each replication found.
    pub rates_rps: Vec<f64>,
    /// Bytes to and from DRAM a second at that rate, in 10⁹.
    pub dram_gb_per_s: Interval,
}

/// Searches for the highest rate at which 99 % of all RPCs end within `slo`; a NACK counts as
/// infinite. Each replication bisects independently.
///
/// # Errors
///
/// [`BlocksError::Slo`] if the lowest rate already misses it; otherwise the errors of a run.
pub fn rate_at_slo(
    scenario: &Scenario,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<RateAtSlo, BlocksError> {
    effort.validate()?;
    let one = |&index: &u32| {
        let found = bisect(scenario, slo, bracket, effort, effort.seed.replica(index.into()));
        progress();
        found
    };
    let found: Vec<(f64, BlocksTally)> = try_each(&replications(0..effort.replications), one)?;
    let over = |figure: &dyn Fn(&(f64, BlocksTally)) -> f64| found.iter().map(figure).collect::<Vec<f64>>();
    let rates_rps = over(&|(rate, _)| *rate);
    Ok(RateAtSlo {
        rate_rps: Interval::of(&rates_rps),
        rates_rps,
        dram_gb_per_s: Interval::of(&over(&|(_, tally)| tally.dram_gb_per_s())),
    })
}

fn bisect(
    scenario: &Scenario,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    seed: Seed,
) -> Result<(f64, BlocksTally), BlocksError> {
    let runner = Runner::try_new(scenario)?;
    let length = length(scenario, effort);
    let probe = |rps: f64| runner.run_within(slo, Rate::try_new(rps)?, length, seed);
    let (mut met, mut missed) = (bracket.lowest, bracket.highest);
    let Some(mut best) = probe(met)? else {
        let p99_ns = runner.run(Rate::try_new(met)?, length, seed)?.latency_with_nacks(0.99) / 1e3;
        return Err(BlocksError::Slo { design: scenario.design.name.clone(), slo_ns: slo.as_ns_f64(), p99_ns });
    };
    while missed - met > bracket.width {
        let middle = (met + missed) / 2.0;
        match probe(middle)? {
            Some(tally) => (met, best) = (middle, tally),
            None => missed = middle,
        }
    }
    Ok((met, best))
}
