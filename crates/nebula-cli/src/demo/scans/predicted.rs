//! The prediction: one core and one queue in the laboratory, with what was measured of handlers and beside them.

use nebula_nic::{Policy, Span};
use nebula_sim::{Distribution, Interval, Length, Load, System, run};
use nebula_workload::{Seed, ServiceTime};

use super::measured::Measured;
use super::setup::{KINDS, Setup};
use crate::output::Failure;

/// Replications of each part.
const PART_REPLICATIONS: u64 = 2;

/// The p99 of each type, in microseconds: of replications of each part of the run, each slice of it from the handler times of that slice. So what
/// the machine does to them from time to time is in both. None where the machine paused all the time.
///
/// # Errors
///
/// A fault of the simulation, such as a slice in which less was served than was offered.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<[Option<Interval>; 2], Failure> {
    let way_us = measured.beside.way.map(|way| way.as_ns_f64() / 1e3);
    let mut p99s = [Vec::new(), Vec::new()];
    for (part, slices) in (0..).zip(&measured.services) {
        for replication in 0..PART_REPLICATIONS {
            let seed = Seed(setup.seed).replica(part * PART_REPLICATIONS + replication);
            let latencies = predict_part(measured, slices, seed)?;
            for kind in [0, 1].into_iter().filter(|&kind| latencies[kind].count() > 0) {
                p99s[kind].push(latencies[kind].quantile(0.99) / 1e6 + way_us[kind]);
            }
        }
    }
    Ok(p99s.map(|p99s| (p99s.len() > 1).then(|| Interval::of_positive(&p99s))))
}

/// Latencies of one replication of a part, by type.
fn predict_part(measured: &Measured, slices: &[[Vec<Span>; 2]], seed: Seed) -> Result<[Distribution; 2], Failure> {
    let mut latencies = [Distribution::default(), Distribution::default()];
    // Where the machine paused all the time nothing is compared.
    let served = (0..).zip(slices).filter(|(_, services)| services.iter().all(|of_type| !of_type.is_empty()));
    for (slice, services) in served {
        let rpcs: usize = services.iter().map(Vec::len).sum();
        let load = load(measured, services, rpcs)?;
        let tally = run(&System::new(Policy::SingleQueue, 1), &load, Length::of(rpcs as u64), seed.replica(slice));
        let tally = tally.map_err(Failure::fault)?;
        latencies.iter_mut().zip(&tally.by_type).for_each(|(latency, of_type)| latency.add(&of_type.latency));
    }
    Ok(latencies)
}

fn load(measured: &Measured, services: &[Vec<Span>; 2], rpcs: usize) -> Result<Load, Failure> {
    let mut types = Vec::new();
    for (name, times) in KINDS.iter().zip(services) {
        let times: Vec<Span> = times.iter().map(|&time| time + measured.beside.core).collect();
        let share = times.len() as f64 / rpcs as f64;
        types.push(((*name).to_owned(), share, ServiceTime::from_spans(name, times).map_err(Failure::fault)?));
    }
    let service = ServiceTime::mix_of(types).map_err(Failure::fault)?;
    let load = measured.rate_rps * service.mean_ps() / 1e12;
    Ok(Load::open(service, load))
}
