//! Which load still meets the SLO, and how sure is that?
//!
//! Each replication bisects for itself, under its own seed: within one seed all loads meet the same service times and the same arrivals,
//! only closer together, so the p99 grows nearly steadily with the load. The answers of the replications are independent and
//! give the interval.

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::Effort;
use crate::interval::Interval;
use crate::load::Load;
use crate::system::System;
use crate::tally::Tally;
use crate::world::run;
use nebula_nic::{Policy, Span};
use nebula_workload::{Seed, TypeId};

/// The highest load that keeps an SLO.
#[derive(Clone, Debug)]
pub struct LoadAtSlo {
    /// Load as a share of the cores' capacity, with its interval.
    pub load: Interval,
    /// What each replication found.
    pub loads: Vec<f64>,
    /// The p99 of the queue depth at that load, with its interval.
    pub depth_p99: Interval,
    /// The mean queue depth at that load, with its interval.
    pub depth_mean: Interval,
    /// RPCs served a second at that load.
    pub served_rps: Interval,
}

/// Where a search looks, and how closely.
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
    /// From 0.01 to 0.9995, to 0.0005.
    fn default() -> Self {
        Self { lowest: 0.01, highest: 0.9995, width: 0.0005 }
    }
}

/// What a load has to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// 99 % of all RPCs end within so long, a NACK counted as infinite.
    P99(Span),
    /// 99 % of the RPCs of one type that are served end within so long, and at most 1 % of all are NACKed.
    P99OfType(TypeId, Span),
    /// 99.9 % of the RPCs of a mix that are served take no longer than so many times their service, and at most 0.1 % of all are NACKed.
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

    /// That the lowest load misses it, with what it shows there.
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

/// Searches for the highest load at which 99 % of all RPCs end within `slo`, a NACK counted as infinite.
///
/// # Errors
///
/// [`SimError::Slo`] if the lowest load misses it already; else as a run.
///
/// # Cost
///
/// About log2((highest − lowest) / width) runs a replication: 11 by default.
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

/// Searches for the highest load that keeps an [`Objective`].
///
/// # Errors
///
/// [`SimError::Slo`] or [`SimError::Slowdown`] if the lowest load misses it already; else as a run.
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
    let bisect_one = |&index: &u32| {
        let found = bisect(system, load, objective, bracket, effort, effort.seed.replica(u64::from(index)));
        progress();
        found
    };
    let found: Vec<(f64, Tally)> = try_each(&replications(0..effort.replications), bisect_one)?;
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

/// A scheduler that does not serve in order lets some RPCs wait for ever past saturation, so that a run would end only when its queue has
/// outgrown all room. With a bound that no load which keeps an SLO comes near, it ends.
fn bounded(system: &System) -> System {
    match (system.policy, system.queue_bound) {
        (Policy::Preemptive(_) | Policy::Darc, None) => {
            system.clone().queue_bound(WAITING_PER_CORE * u32::from(system.workers()))
        }
        _ => system.clone(),
    }
}

const WAITING_PER_CORE: u32 = 64;

/// Whether a scheduler that does not serve in order keeps its SLO by letting a few RPCs wait for as long as the load lasts.
///
/// Where fewer than 1 % are long, no p99 tells. Told by an RPC that took longer than half of the measured window: in a system that keeps up,
/// windows are many times longer than any RPC takes.
pub(crate) fn is_starving(system: &System, tally: &Tally) -> bool {
    matches!(system.policy, Policy::Preemptive(_) | Policy::Darc) && tally.latency.max() > tally.window.as_ps() / 2
}

/// The highest load that one seed meets the SLO at, and what it showed there.
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
        match run(system, &load, effort.length(&load), seed) {
            // A queue that outgrows all room has missed every SLO.
            Err(SimError::Outgrown { .. }) => Ok(None),
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
