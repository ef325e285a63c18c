//! Many points, run by an executor.

use super::found::Found;
use super::point::Point;
use crate::error::SimError;
use crate::executor::Executor;
use nebula_workload::Seed;

/// Runs each point with `seed`; results are in the order of the points, and a failure stops no
/// other point. Calls `progress` after each replication, on its thread.
///
/// # Cost
///
/// A few hundred bytes for the result of a point, whatever the number of RPCs.
pub fn run(
    points: &[Point],
    seed: Seed,
    executor: &impl Executor,
    progress: &(dyn Fn() + Sync),
) -> Vec<Result<Found, SimError>> {
    executor.map(points, |point| point.run_with(seed, progress))
}

/// Calls of `progress` by [`run`] without a precision; a search counts once, at its lowest load.
#[must_use]
pub fn replications(points: &[Point]) -> u64 {
    let of = |point: &Point| u64::from(point.effort.replications);
    points.iter().map(of).sum()
}
