//! Search for the highest load that meets an SLO, with a confidence interval.
//!
//! [`highest_load`] judges each load by all replications together, and is what users ask for.
//! [`load_at_objective`] is for comparisons of systems seed by seed, which reproduced figures are:
//! each replication bisects independently with its own seed. With one seed, all loads have the same
//! service times and the same arrivals, only closer together, so the p99 is nearly monotonic in the
//! load. The results of the replications are independent and give the interval.

pub(crate) mod crossing;
mod highest;
mod side_by_side;

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::Effort;
use crate::interval::Interval;
use crate::load::Load;
use crate::recursion::lanes::LANES;
use crate::system::System;
use crate::tally::Tally;
use crate::world::run;
use nebula_nic::{Policy, Span};
use nebula_workload::{Seed, TypeId};
use side_by_side::SideBySide;

pub use crossing::SearchEnd;
pub use highest::{HighestLoad, highest_load};

/// The highest load that meets an SLO.
#[derive(Clone, Debug)]
pub struct LoadAtSlo {
    /// Load as a share of the cores' capacity, with its interval.
    pub load: Interval,
    /// The load that each replication found.
    pub loads: Vec<f64>,
    /// The p99 of the queue depth at that load, with its interval.
    pub depth_p99: Interval,
    /// The mean queue depth at that load, with its interval.
    pub depth_mean: Interval,
    /// RPCs served per second at that load, with its interval.
    pub served_rps: Interval,
}

/// The range and the resolution of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// Lowest load.
    pub lowest: f64,
    /// Highest load; below 1 unless the queue has a bound.
    pub highest: f64,
    /// Width at which a replication stops bisecting.
    pub width: f64,
}

impl Default for Bracket {
    /// From 0.01 to 0.9995, with a resolution of 0.0005.
    fn default() -> Self {
        Self { lowest: 0.01, highest: 0.9995, width: 0.0005 }
    }
}

/// The condition that a load must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// 99 % of all RPCs end within this time; a NACK counts as infinite.
    P99(Span),
    /// 99 % of the served RPCs of one type end within this time, and at most 1 % of all RPCs are
    /// NACKed.
    P99OfType(TypeId, Span),
    /// 99.9 % of the served RPCs of a mix have at most this slowdown (latency over service time),
    /// and at most 0.1 % of all are NACKed.
    Slowdown(f64),
}

impl Objective {
    fn is_kept(self, tally: &Tally) -> bool {
        match self {
            Self::P99(slo) => tally.latency_with_nacks(0.99) <= slo.as_ps() as f64,
            Self::P99OfType(TypeId(kind), slo) => {
                let of_type = tally.by_type.get(usize::from(kind));
                tally.accepted() >= 0.99
                    && of_type.is_some_and(|of_type| of_type.latency.quantile(0.99) <= slo.as_ps() as f64)
            }
            Self::Slowdown(times) => tally.accepted() >= 0.999 && tally.slowdown().quantile(0.999) <= times * 1e3,
        }
    }

    /// The error that the lowest load misses it, with its result there.
    fn missed(self, tally: Option<&Tally>) -> SimError {
        match self {
            Self::P99(slo) | Self::P99OfType(_, slo) => {
                let p99_ns = tally.map_or(f64::INFINITY, |tally| tally.latency_with_nacks(0.99) / 1e3);
                SimError::Slo { slo_ns: slo.as_ns_f64(), p99_ns }
            }
            Self::Slowdown(times) => SimError::Slowdown { times },
        }
    }
}

/// Searches for the highest load at which 99 % of all RPCs end within `slo`; a NACK counts as
/// infinite.
///
/// # Errors
///
/// [`SimError::Slo`] if the lowest load already misses it; otherwise the errors of a run.
///
/// # Cost
///
/// About log2((highest − lowest) / width) runs per replication: 11 by default. Under first come,
/// first served with Poisson arrivals and no costs eight replications are simulated [side by
/// side](crate::lanes), with the same result.
pub fn load_at_slo(
    system: &System,
    load: &Load,
    slo: Span,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<LoadAtSlo, SimError> {
    load_at_objective(system, load, Objective::P99(slo), bracket, effort, progress)
}

/// Searches for the highest load that meets an [`Objective`].
///
/// # Errors
///
/// [`SimError::Slo`] or [`SimError::Slowdown`] if the lowest load already misses it; otherwise the
/// errors of a run.
///
/// # Cost
///
/// As [`load_at_slo`].
pub fn load_at_objective(
    system: &System,
    load: &Load,
    objective: Objective,
    bracket: Bracket,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<LoadAtSlo, SimError> {
    effort.validate()?;
    // Where one run is asked for alone, each replication is a piece of work; runs side by side are
    // one piece together.
    let lanes = SideBySide::of(system, load, objective, bracket, effort);
    let bisect_some = |indices: &&[u32]| -> Result<Vec<(f64, Tally)>, SimError> {
        let seeds: Vec<Seed> = indices.iter().map(|&index| effort.seed.replica(u64::from(index))).collect();
        let alone = |&seed: &Seed| bisect(system, load, objective, bracket, effort, seed);
        let found = lanes.as_ref().map_or_else(|| seeds.iter().map(alone).collect(), |lanes| lanes.bisect(&seeds))?;
        indices.iter().for_each(|_| progress());
        Ok(found)
    };
    let all = replications(0..effort.replications);
    let pieces: Vec<&[u32]> = all.chunks(if lanes.is_some() { LANES } else { 1 }).collect();
    let found: Vec<(f64, Tally)> = try_each(&pieces, bisect_some)?.into_iter().flatten().collect();
    let over = |figure: &dyn Fn(&Tally) -> f64| {
        Interval::of(&found.iter().map(|(_, tally)| figure(tally)).collect::<Vec<_>>())
    };
    let loads: Vec<f64> = found.iter().map(|&(load, _)| load).collect();
    Ok(LoadAtSlo {
        load: Interval::of(&loads),
        depth_p99: over(&|tally| tally.queue_depth.quantile(0.99)),
        depth_mean: over(&|tally| tally.queue_depth.mean()),
        served_rps: over(&Tally::served_rps),
        loads,
    })
}

/// Past saturation, a scheduler that does not serve in order starves some RPCs, and a run would end
/// only when its queue exceeds its limit. This bound ends such a run. No load that meets an SLO
/// comes near it.
fn bounded(system: &System) -> System {
    match (system.policy, system.queue_bound) {
        (Policy::Preemptive(_) | Policy::Darc, None) => {
            system.clone().queue_bound(WAITING_PER_CORE * u32::from(system.workers()))
        }
        _ => system.clone(),
    }
}

const WAITING_PER_CORE: u32 = 64;

/// Whether a scheduler that does not serve in order meets its SLO by starving a few RPCs for as
/// long as the load lasts.
///
/// If fewer than 1 % are long, no p99 shows it. The sign is an RPC that took longer than half of
/// the measured window: in a stable system, the window is many times longer than any RPC.
pub(crate) fn is_starving(system: &System, tally: &Tally) -> bool {
    matches!(system.policy, Policy::Preemptive(_) | Policy::Darc) && tally.latency.max() > tally.window.as_ps() / 2
}

/// The highest load at which one seed meets the SLO, and its results there.
fn bisect(
    system: &System,
    load: &Load,
    objective: Objective,
    bracket: Bracket,
    effort: &Effort,
    seed: Seed,
) -> Result<(f64, Tally), SimError> {
    let system = &bounded(system);
    let probe = |at: f64| {
        let load = load.clone().at(at);
        match run(system, &load, effort.length(system, &load), seed) {
            // A queue that exceeds its limit has missed every SLO.
            Err(SimError::Outgrown { .. } | SimError::HotCore { .. }) => Ok(None),
            tally => tally.map(Some),
        }
    };
    let meets = |tally: &Tally| objective.is_kept(tally) && !is_starving(system, tally);
    let (mut met_at, mut missed_at) = (bracket.lowest, bracket.highest);
    let mut best = match probe(met_at)? {
        Some(tally) if meets(&tally) => tally,
        tally => return Err(objective.missed(tally.as_ref())),
    };
    if let Some(tally) = probe(missed_at)?.filter(meets) {
        return Ok((missed_at, tally));
    }
    while missed_at - met_at > bracket.width {
        let middle = (met_at + missed_at) / 2.0;
        match probe(middle)?.filter(meets) {
            Some(tally) => (met_at, best) = (middle, tally),
            None => missed_at = middle,
        }
    }
    Ok((met_at, best))
}
