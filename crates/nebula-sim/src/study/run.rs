//! Many points, on the threads of an executor.

use super::found::Found;
use super::point::{Ask, Point};
use crate::error::SimError;
use crate::executor::Executor;
use nebula_workload::Seed;

/// What each point shows under `seed`, in the order of the points; one that fails ends no other.
///
/// `progress` is told of each replication that has ended, from whichever thread ran it.
///
/// # Cost
///
/// Each point's result takes some hundred bytes, however many RPCs were simulated.
pub fn run(
    points: &[Point],
    seed: Seed,
    executor: &impl Executor,
    progress: &(dyn Fn() + Sync),
) -> Vec<Result<Found, SimError>> {
    executor.map(points, |point| point.run_with(seed, progress))
}

/// How many replications `progress` of [`run`] will be told of, unless a precision asks for more: a search counts twice, as it looks at
/// what it has found.
#[must_use]
pub fn replications(points: &[Point]) -> u64 {
    let of = |point: &Point| if point.ask == Ask::FindLoad { 2 } else { 1 } * u64::from(point.effort.replications);
    points.iter().map(of).sum()
}
