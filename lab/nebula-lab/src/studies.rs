//! Runs points on threads, after validation.

use nebula_nic::{Policy, Span};
use nebula_sim::study::fields::Fields;
use nebula_sim::study::{self, Executor, Found, Point, text};
use nebula_sim::{Load, Source, System};
use nebula_workload::Seed;

use crate::{Answer, Failure, Progress};

/// The results of all points, and the first failure if any failed.
#[derive(Debug)]
pub struct Measured {
    /// The results of the points that did not fail, in order.
    pub found: Vec<Found>,
    /// A queue that grew without limit.
    pub failure: Option<Failure>,
}

impl Measured {
    pub(crate) fn answer(&self, fields: &Fields<Found>) -> Answer {
        Answer {
            rows: self.found.iter().map(|found| fields.row(found)).collect(),
            notes: self.found.iter().filter_map(Found::doubt).collect(),
            failure: self.failure.clone(),
            ..Answer::default()
        }
    }
}

/// Runs all points. If a queue grows without limit, its failure comes with the others' results.
///
/// # Errors
///
/// Invalid input.
pub fn measure(
    executor: &impl Executor,
    points: &[Point],
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Measured, Failure> {
    progress.expect(study::replications(points));
    let results = study::run(points, seed, executor, &|| progress.step());
    let mut measured = Measured { found: Vec::new(), failure: None };
    for result in results {
        match result.map_err(Failure::from) {
            Ok(found) => measured.found.push(found),
            Err(fault @ Failure::Fault(_)) => measured.failure = measured.failure.or(Some(fault)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(measured)
}

/// Rejects an unbounded queue past saturation, whose result would depend on the run's length only.
///
/// # Errors
///
/// Invalid input; the message names a possible load.
pub fn check_saturation(system: &System, load: &Load) -> Result<(), Failure> {
    let saturation = system.saturation(&load.service);
    match load.source {
        Source::Open { utilization, .. } if utilization >= saturation && system.queue_bound.is_none() => {
            Err(Failure::bad_input(format!(
                "a load of {utilization} with an unbounded queue has no steady state: the costs of {} leave room for less than {}; lower the load, or give a --queue-bound",
                system.policy,
                text::load(saturation),
            )))
        }
        _ => Ok(()),
    }
}

/// The default hold time of `mcs-lock`: a transfer of a line that two other cores touched.
const LOCK_HANDOFF: Span = Span::from_ns(150);

/// The cost of the lock, for policies that have one.
pub fn lock_handoff(policy: Policy, given: Option<Span>) -> Span {
    if policy == Policy::McsLock { given.unwrap_or(LOCK_HANDOFF) } else { Span::ZERO }
}
