//! Runs studies from the command line: threads, progress bar, and validation before the first run.

use indicatif::ProgressBar;
use nebula_nic::{Policy, Span};
use nebula_sim::study::{self, Found, Point, Threads, text};
use nebula_sim::{Load, Source, System};
use nebula_workload::Seed;

use crate::output::{self, Failure};

/// The results of all points, and the first failure if any failed.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) found: Vec<Found>,
    pub(crate) failure: Option<Failure>,
}

/// Runs all points; results are in the order of the points.
///
/// # Errors
///
/// Invalid input. If the queue of one point grows without limit, the other points still run: the failure comes with their results.
pub(crate) fn measure(threads: &Threads, points: &[Point], seed: Seed) -> Result<Measured, Failure> {
    let bar = bar(study::replications(points));
    let results = study::run(points, seed, threads, &|| advance(&bar));
    bar.finish_and_clear();
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

/// A progress bar; it shows on terminals only.
pub(crate) fn bar(replications: u64) -> ProgressBar {
    output::bar("simulating {bar:40} {pos} of {len} replications, {eta} to go", Some(replications))
}

/// Counts a finished replication; `--precision` may add more of them than were planned.
pub(crate) fn advance(bar: &ProgressBar) {
    if bar.length().is_some_and(|length| bar.position() >= length) {
        bar.inc_length(1);
    }
    bar.inc(1);
}

/// Rejects an unbounded queue past saturation: the result would only depend on the length of the run.
///
/// # Errors
///
/// Invalid input; the message names a possible load.
pub(crate) fn check_saturation(system: &System, load: &Load) -> Result<(), Failure> {
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

/// The default time for which a core holds the lock of `mcs-lock`: the transfer of a cache line that two other cores touch in between.
const LOCK_HANDOFF: Span = Span::from_ns(150);

/// The cost of the lock, for policies that have one.
pub(crate) fn lock_handoff(policy: Policy, given: Option<Span>) -> Span {
    if policy == Policy::McsLock { given.unwrap_or(LOCK_HANDOFF) } else { Span::ZERO }
}
