//! Many points, run by an executor.

use super::found::Found;
use super::point::Point;
use crate::error::SimError;
use crate::executor::Executor;
use nebula_workload::Seed;

/// Runs each point with `seed`; results are in the order of the points, and a point that fails does
/// not stop the others.
///
/// `progress` is called after each replication, on the thread that ran it.
///
/// # Cost
///
/// The result of a point takes a few hundred bytes, independent of the number of simulated RPCs.
pub fn run(
    points: &[Point],
    seed: Seed,
    executor: &impl Executor,
    progress: &(dyn Fn() + Sync),
) -> Vec<Result<Found, SimError>> {
    executor.map(points, |point| point.run_with(seed, progress))
}

/// How often [`run`] will call `progress`, unless a precision needs more replications. A search
/// counts once, at its lowest load.
#[must_use]
pub fn replications(points: &[Point]) -> u64 {
    let of = |point: &Point| u64::from(point.effort.replications);
    points.iter().map(of).sum()
}
