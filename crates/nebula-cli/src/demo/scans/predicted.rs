//! The prediction: one core and one queue in the laboratory, with what was measured of handlers and beside them.

use nebula_nic::{Policy, Span};
use nebula_sim::{Interval, Load, System, Tally};
use nebula_workload::{Seed, ServiceTime};

use super::measured::Measured;
use super::setup::{KINDS, Setup};
use crate::demo::agreement::replicate;
use crate::output::Failure;

/// Replications of each part.
const PART_REPLICATIONS: u64 = 2;

/// The p99 of each type, in microseconds: of replications as long as the parts of the run, each from the handler times of that part. So what
/// the machine does to them from second to second is in both.
///
/// # Errors
///
/// A fault of the simulation, such as a part in which less was served than was offered; and where the machine paused all the time.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<[Interval; 2], Failure> {
    let mut p99s = [Vec::new(), Vec::new()];
    // Where the machine paused all the time nothing is compared.
    let served =
        (0..).zip(&measured.services).filter(|(_, services)| services.iter().all(|of_type| !of_type.is_empty()));
    for (part, services) in served {
        for tally in predict_part(setup, measured, services, part)? {
            for (kind, p99s) in p99s.iter_mut().enumerate() {
                let p99_ps = tally.by_type.get(kind).map_or(0.0, |of_type| of_type.latency.quantile(0.99));
                p99s.push(p99_ps / 1e6 + measured.beside.way.as_ns_f64() / 1e3);
            }
        }
    }
    if p99s[0].is_empty() {
        return Err(Failure::fault("the machine paused all the time: end what else runs, or give a longer --duration"));
    }
    Ok(p99s.map(|p99s| Interval::of_positive(&p99s)))
}

fn predict_part(
    setup: &Setup,
    measured: &Measured,
    services: &[Vec<Span>; 2],
    part: u64,
) -> Result<Vec<Tally>, Failure> {
    let rpcs: usize = services.iter().map(Vec::len).sum();
    let mut types = Vec::new();
    for (name, times) in KINDS.iter().zip(services) {
        let times: Vec<Span> = times.iter().map(|&time| time + measured.beside.core).collect();
        let share = times.len() as f64 / rpcs.max(1) as f64;
        types.push(((*name).to_owned(), share, ServiceTime::from_spans(name, times).map_err(Failure::fault)?));
    }
    let service = ServiceTime::mix_of(types).map_err(Failure::fault)?;
    let load = measured.rate_rps * service.mean_ps() / 1e12;
    let load = Load::open(service, load);
    replicate(&System::new(Policy::SingleQueue, 1), &load, rpcs, PART_REPLICATIONS, Seed(setup.seed).replica(part))
}
