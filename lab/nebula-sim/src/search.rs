//! Search for the highest load that meets an SLO, with a confidence interval.
//!
//! [`highest_load`] judges each load by all replications together, and is for users.
//! [`load_at_objective`] compares systems seed by seed, for reproduced figures: each replication
//! bisects with its seed. With one seed, loads have the same service times and the same arrivals
//! only closer together, so the p99 is nearly monotonic. The results give the interval.

pub(crate) mod objective;
pub(crate) mod bracket;
pub(crate) mod starving;
pub(crate) mod crossing;
mod highest;
mod side_by_side;

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::effort::Effort;
use crate::interval::Interval;
use crate::load::Load;
use crate::recursion::lanes::lane::LANES;
pub use crate::search::bracket::Bracket;
pub use crate::search::objective::Objective;
use crate::search::starving::bounded;
pub(crate) use crate::search::starving::is_starving;
use crate::system::System;
use crate::tally::Tally;
use crate::world::run;
use nebula_nic::Span;
use nebula_workload::Seed;
use side_by_side::SideBySide;

pub use crossing::{Highest, SearchEnd};
pub use highest::highest_load;

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

/// Searches for the highest load at which 99 % of all RPCs end within `slo`, as no NACK does.
///
/// # Errors
///
/// [`SimError::Slo`] if the lowest load misses it; otherwise a run's errors.
///
/// # Cost
///
/// About log2((highest − lowest) / width) runs per replication: 11 by default. Runs that
/// [lanes](crate::lanes) hold are made eight at a time, with the same result.
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
/// [`SimError::Slo`] or [`SimError::Slowdown`] if the lowest load misses it; a run's errors.
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
    // A replication is a piece of work; replications side by side are one together.
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
