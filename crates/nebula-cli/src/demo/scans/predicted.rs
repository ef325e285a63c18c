//! The prediction: one core and one queue in the laboratory, with the handler times that were measured.

use nebula_nic::Policy;
use nebula_sim::{Interval, Length, Load, System, run};
use nebula_workload::{Seed, ServiceTime};

use super::measured::Measured;
use super::setup::{KINDS, Setup};
use crate::output::Failure;

/// Replications, each as long as the run.
const REPLICATIONS: u64 = 20;

/// The p99 of each type, in microseconds.
///
/// # Errors
///
/// A fault of the simulation, such as a type of which nothing was served.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<[Interval; 2], Failure> {
    let all: usize = measured.services.iter().map(Vec::len).sum();
    let mut types = Vec::new();
    for (name, times) in KINDS.iter().zip(&measured.services) {
        let service = ServiceTime::from_spans(name, times.clone()).map_err(Failure::fault)?;
        types.push(((*name).to_owned(), times.len() as f64 / all as f64, service));
    }
    let service = ServiceTime::mix_of(types).map_err(Failure::fault)?;
    let load = measured.rate_rps * service.mean_ps() / 1e12;
    let load = Load::open(service, load);
    let system = System::new(Policy::SingleQueue, 1);
    let one = |index| run(&system, &load, Length::of(all as u64), Seed(setup.seed).replica(index));
    let tallies: Vec<_> = (0..REPLICATIONS).map(one).collect::<Result<_, _>>().map_err(Failure::fault)?;
    let of = |kind: usize| {
        let p99 = |tally: &nebula_sim::Tally| {
            tally.by_type.get(kind).map_or(0.0, |of_type| of_type.latency.quantile(0.99) / 1e6)
        };
        Interval::of_positive(&tallies.iter().map(p99).collect::<Vec<_>>())
    };
    Ok([of(0), of(1)])
}
