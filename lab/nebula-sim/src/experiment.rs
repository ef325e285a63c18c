//! One operating point with error bars: parallel replications, and a stopping rule.
//!
//! Replication `i` uses the seed's replica `i`, so a result never depends on the number of threads.
//! Two systems with the same seed receive the same arrivals and service times.

pub(crate) mod effort;
mod by_run;
pub(crate) mod met;
pub(crate) mod parts;

use crate::error::SimError;
use crate::executor::{replications, try_each};
pub use crate::experiment::effort::Effort;
use crate::interval::Interval;
use crate::interval::ratio::Ratio;
use crate::load::Load;
use crate::search::starving::is_starving;
use crate::settled::{Relaxation, are_independent, hardly_depend};
use crate::system::System;
use crate::tally::Tally;
use crate::tally::sections::Sections;
use crate::world::demand::{Demand, InParts};
use crate::world::length::Length;
use crate::world::run_in_parts;
use nebula_nic::Span;

pub(crate) use by_run::{ByRun, Counts};
pub use met::Met;
pub(crate) use parts::Parts;

/// The factor by which a window grows if it is too short and no formula gives its length.
const GROWTH: u64 = 4;

/// The results of an operating point.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The sum of all replications.
    pub tally: Tally,
    /// The p99 of each replication in picoseconds, of the RPCs served.
    pub p99_ps: Vec<f64>,
    /// The p99 of each replication over all RPCs; a NACK counts as infinite.
    pub p99_ps_with_nacks: Vec<f64>,
    /// Mean latencies of each replication in picoseconds.
    pub mean_ps: Vec<f64>,
    /// Mean queue depths of each replication.
    pub depth_mean: Vec<f64>,
    /// p99 of the queue depth of each replication.
    pub depth_p99: Vec<f64>,
    /// Whether some RPCs waited as long as the load lasted; below 1 % of RPCs, no p99 shows it.
    pub is_starving: bool,
    /// Whether so much was simulated that the intervals hold; otherwise the point is *unsettled*.
    pub is_settled: bool,
    /// Whether the requested precision was reached; `None` if none was requested.
    pub is_precise: Option<bool>,
    /// Warm-up and measured RPCs of each replication.
    pub length: Length,
    parts: Parts,
    by_run: ByRun,
    /// The mean latencies of the batches of each replication.
    batches: Vec<Vec<f64>>,
}

impl Estimate {
    fn empty(length: Length) -> Self {
        let [p99_ps, p99_ps_with_nacks, mean_ps, depth_mean, depth_p99] = Default::default();
        Self {
            tally: Tally::new(),
            p99_ps,
            p99_ps_with_nacks,
            mean_ps,
            depth_mean,
            depth_p99,
            is_starving: false,
            is_settled: false,
            is_precise: None,
            length,
            parts: Parts::default(),
            by_run: ByRun::default(),
            batches: Vec::new(),
        }
    }

    fn take(&mut self, system: &System, (tally, sections): InParts) {
        self.is_starving |= is_starving(system, &tally);
        self.tally.add(&tally);
        self.by_run.take(system, &tally);
        self.p99_ps.push(tally.latency.quantile(0.99));
        self.p99_ps_with_nacks.push(tally.latency_with_nacks(0.99));
        self.mean_ps.push(tally.latency.mean());
        self.depth_mean.push(tally.queue_depth.mean());
        self.depth_p99.push(tally.queue_depth.quantile(0.99));
        if let Some(Sections { sections, means, .. }) = sections {
            self.parts.extend(sections);
            self.batches.push(means);
        }
    }

    fn settle(&mut self, system: &System, load: &Load, length: Length) {
        let by_formula = Relaxation::of(system, load).is_none_or(|known| known.is_within(length, self.replications()));
        let by_batches = load.over_time.is_some() || are_independent(&self.batches);
        self.is_settled = by_formula && by_batches && self.parts.is_tail_seen(self.tally.latency_with_nacks(0.99));
    }

    /// The effort with a longer window, if this one is too short and no formula gives its length.
    fn longer(&self, system: &System, load: &Load, effort: &Effort) -> Option<Effort> {
        let may_grow = effort.rpcs < effort.rpcs_max && load.over_time.is_none();
        let is_short = may_grow && Relaxation::of(system, load).is_none() && !self.is_long();
        is_short.then(|| Effort { rpcs: (effort.rpcs * GROWTH).min(effort.rpcs_max), ..*effort })
    }

    /// Whether the windows are long enough, with a margin for the error of correlations.
    fn is_long(&self) -> bool {
        hardly_depend(&self.batches) && self.parts.is_tail_seen(self.tally.latency_with_nacks(0.99))
    }

    /// Number of replications that ran.
    #[must_use]
    pub fn replications(&self) -> usize {
        self.p99_ps.len()
    }

    /// The p99 in picoseconds, of the RPCs served.
    #[must_use]
    pub fn p99(&self) -> Interval {
        self.quantile(0.99)
    }

    /// The latency in picoseconds that a share `share` of the RPCs served does not exceed. Takes
    /// some thousand look-ups for each part of the simulation.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Interval {
        self.parts.quantile(share).unwrap_or_else(|| Interval::unknown(self.tally.latency.quantile(share)))
    }

    /// The slowdown that a share `share` of the RPCs of a mix does not exceed, in thousandths;
    /// `None` unless the service times are a mix.
    #[must_use]
    pub fn slowdown(&self, share: f64) -> Option<Interval> {
        let is_mix = !self.tally.by_type.is_empty();
        let unknown = || Interval::unknown(self.tally.slowdown().quantile(share));
        is_mix.then(|| self.parts.slowdown(share).unwrap_or_else(unknown))
    }

    /// The mean latency in picoseconds, of the RPCs served.
    #[must_use]
    pub fn mean(&self) -> Interval {
        self.parts.mean(self.tally.latency.mean())
    }

    /// The share of RPCs that were served.
    #[must_use]
    pub fn accepted(&self) -> Interval {
        self.parts.accepted(self.tally.accepted())
    }

    /// RPCs served per second.
    #[must_use]
    pub fn served_rps(&self) -> Interval {
        self.parts.served_rps(self.tally.served_rps())
    }

    pub(crate) fn late(&self, slo: Span) -> Ratio {
        self.parts.late(slo)
    }

    pub(crate) const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The replications, for intervals of cores, tiers and parts of a period.
    pub(crate) const fn by_run(&self) -> &ByRun {
        &self.by_run
    }

    /// Whether no RPC starves and the p99 of all RPCs, with NACKs as infinite, meets the SLO.
    #[must_use]
    pub fn met(&self, slo: Span) -> Met {
        if self.is_starving { Met::No } else { Met::of(&self.late(slo), self.is_settled) }
    }

    /// Whether it is certain that the p99 of all RPCs meets the SLO: [`Met::Yes`].
    #[must_use]
    pub fn meets(&self, slo: Span) -> bool {
        self.met(slo) == Met::Yes
    }
}

/// Runs replications of one operating point until the effort is spent or the precision is reached.
///
/// Where no formula gives the relaxation time (bounds on the queue, bursts, closed loops, `darc`),
/// windows grow fourfold, up to the effort's `rpcs_max`, until the means of successive batches
/// hardly depend on each other.
///
/// `progress` is called after each replication, on the thread that ran it: replications run in
/// parallel on the current [`Executor`](crate::study::Executor), or else on rayon's global pool.
/// Each takes the memory of a tally.
///
/// # Errors
///
/// [`SimError`] of the first replication that fails.
pub fn estimate(
    system: &System,
    load: &Load,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<Estimate, SimError> {
    effort.validate()?;
    let mut found = measure(system, load, effort, progress)?;
    let mut effort = *effort;
    while let Some(longer) = found.longer(system, load, &effort) {
        effort = longer;
        match measure(system, load, &effort, progress) {
            // Only a longer run shows that the queue grows.
            Err(SimError::Outgrown { .. }) => {
                found.is_settled = false;
                break;
            }
            longer => found = longer?,
        }
    }
    Ok(found)
}

fn measure(system: &System, load: &Load, effort: &Effort, progress: &(dyn Fn() + Sync)) -> Result<Estimate, SimError> {
    let length = effort.length(system, load);
    let mut estimate = Estimate::empty(length);
    let mut first = 0;
    loop {
        let last = first + effort.replications;
        for in_parts in replicate(system, load, effort, first..last, progress)? {
            estimate.take(system, in_parts);
        }
        estimate.settle(system, load, length);
        let Some(precision) = effort.precision else { return Ok(estimate) };
        let is_precise = estimate.p99().relative() <= precision;
        // `estimate` repeats a window that is too short, so more replications of it are useless.
        if is_precise || last >= effort.replications_max || estimate.longer(system, load, effort).is_some() {
            estimate.is_precise = Some(is_precise);
            return Ok(estimate);
        }
        first = last;
    }
}

fn replicate(
    system: &System,
    load: &Load,
    effort: &Effort,
    indices: std::ops::Range<u32>,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<InParts>, SimError> {
    // A load that changes is followed over whole replications.
    let parts = if load.over_time.is_some() { 1 } else { effort.parts() };
    let one = |&index: &u32| {
        let seed = effort.seed.replica(u64::from(index));
        let in_parts = run_in_parts(system, Demand { load, length: effort.length(system, load), seed, parts });
        progress();
        in_parts
    };
    try_each(&replications(indices), one)
}
