//! Studies from the command line: the threads they run on, the bar that tells how far they are, and what is refused before they run.

use indicatif::ProgressBar;
use nebula_nic::{Policy, Span};
use nebula_sim::study::{self, Found, Point, Threads, text};
use nebula_sim::{Load, Source, System};
use nebula_workload::Seed;

use crate::output::{self, Failure};

/// What all points have shown; of those that failed, the first failure.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) found: Vec<Found>,
    pub(crate) failure: Option<Failure>,
}

/// Runs all points; results stand in the order of the points.
///
/// # Errors
///
/// Bad input. A point whose queue outgrows all room ends no other: its failure comes with what the others have shown.
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

/// A bar on a terminal; nothing in a pipe.
pub(crate) fn bar(replications: u64) -> ProgressBar {
    output::bar("simulating {bar:40} {pos} of {len} replications, {eta} to go", Some(replications))
}

/// One replication more has ended; a precision may have asked for more of them than were counted at first.
pub(crate) fn advance(bar: &ProgressBar) {
    if bar.length().is_some_and(|length| bar.position() >= length) {
        bar.inc_length(1);
    }
    bar.inc(1);
}

/// Past saturation a run would show how far the queue had grown when it ended, and nothing else.
///
/// # Errors
///
/// Bad input, with the load that would be possible.
pub(crate) fn check_saturation(system: &System, load: &Load) -> Result<(), Failure> {
    let saturation = system.saturation(&load.service);
    match load.source {
        Source::Open { utilization, .. } if utilization >= saturation && system.queue_bound.is_none() => {
            Err(Failure::bad_input(format!(
                "a load of {utilization} with an unbounded queue has no steady state: what {} costs here leaves less than {}; lower it, or give a --queue-bound",
                system.policy,
                text::load(saturation),
            )))
        }
        _ => Ok(()),
    }
}

/// How long a core holds the lock of `mcs-lock` unless told: a cache line that two other cores touch between its own turns.
const LOCK_HANDOFF: Span = Span::from_ns(150);

/// What the lock costs where there is one.
pub(crate) fn lock_handoff(policy: Policy, given: Option<Span>) -> Span {
    if policy == Policy::McsLock { given.unwrap_or(LOCK_HANDOFF) } else { Span::ZERO }
}
