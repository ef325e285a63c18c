//! The prediction: one core and one queue in the laboratory, with the measured handler times and
//! costs.

use nebula_nic::{Policy, Span};
use nebula_sim::{Distribution, Interval, Length, Load, System, run};
use nebula_workload::{Seed, ServiceTime};

use super::measured::{Measured, SLICE};
use super::setup::{KINDS, Setup};
use nebula_ui::output::Failure;

const PART_REPLICATIONS: u64 = 2;

/// A slice is predicted if the handler times of one in this many of its offered RPCs are known:
/// fewer say too little about its load.
const KNOWN: f64 = 10.0;

/// The p99 of each type, in microseconds, from replications of each part of the run. Each slice has
/// its own handler times, so that changes of the machine's speed are in run and prediction. `None`
/// if the machine paused all the time.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<[Option<Interval>; 2], Failure> {
    let way_us = measured.beside.way.map(|way| way.as_ns_f64() / 1e3);
    let mut p99s = [Vec::new(), Vec::new()];
    for (part, slices) in (0..).zip(&measured.services) {
        for replication in 0..PART_REPLICATIONS {
            let seed = Seed(setup.seed).replica(part * PART_REPLICATIONS + replication);
            let latencies = predict_part(setup, measured, slices, seed)?;
            for kind in [0, 1].into_iter().filter(|&kind| latencies[kind].count() > 0) {
                p99s[kind].push(latencies[kind].quantile(0.99) / 1e6 + way_us[kind]);
            }
        }
    }
    Ok(p99s.map(|p99s| (p99s.len() > 1).then(|| Interval::of_positive(&p99s))))
}

/// Latencies of one replication of a part, by type.
fn predict_part(
    setup: &Setup,
    measured: &Measured,
    slices: &[[Vec<Span>; 2]],
    seed: Seed,
) -> Result<[Distribution; 2], Failure> {
    let mut latencies = [Distribution::default(), Distribution::default()];
    for (slice, services) in (0..).zip(slices) {
        let rpcs: usize = services.iter().map(Vec::len).sum();
        let Some(load) = load(setup, measured, services)? else { continue };
        let tally = run(&System::new(Policy::SingleQueue, 1), &load, Length::of(rpcs as u64), seed.replica(slice));
        let tally = tally.map_err(Failure::fault)?;
        latencies.iter_mut().zip(&tally.by_type).for_each(|(latency, of_type)| latency.add(&of_type.latency));
    }
    Ok(latencies)
}

/// The load of a slice; `None` if pauses leave too little of it, or it was offered more than it
/// could serve.
fn load(setup: &Setup, measured: &Measured, services: &[Vec<Span>; 2]) -> Result<Option<Load>, Failure> {
    let rpcs: usize = services.iter().map(Vec::len).sum();
    let is_known = rpcs as f64 * KNOWN >= measured.rate_rps * SLICE.as_secs_f64();
    if !is_known || services.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let mut types = Vec::new();
    for ((name, times), share) in KINDS.iter().zip(services).zip([1.0 - setup.scans, setup.scans]) {
        let times: Vec<Span> = times.iter().map(|&time| time + measured.beside.core).collect();
        types.push(((*name).to_owned(), share, ServiceTime::from_spans(name, times).map_err(Failure::fault)?));
    }
    let service = ServiceTime::mix_of(types).map_err(Failure::fault)?;
    let load = measured.rate_rps * service.mean_ps() / 1e12;
    Ok((load < 1.0).then(|| Load::open(service, load)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scans::measured::Beside;

    /// A run at 20,000 RPC/s, with one slice of GETs of 1 us and SCANs.
    fn measured(gets: usize, scans: usize, scan: Span) -> Measured {
        let services = [vec![Span::from_us(1); gets], vec![scan; scans]];
        Measured {
            rate_rps: 20_000.0,
            rpcs: [0; 2],
            service_mean: [Span::ZERO; 2],
            services: vec![vec![services]; 2],
            beside: Beside { core: Span::ZERO, way: [Span::ZERO; 2] },
            raw_p99_us: [None; 2],
            p99_us: [None; 2],
            kept: 0.0,
        }
    }

    fn setup() -> Setup {
        Setup { scans: 0.1, scan_items: 1, keys: 1, duration: Span::from_ms(100), seed: 1 }
    }

    #[test]
    fn a_slice_of_which_enough_is_known_is_predicted() {
        let predicted = predict(&setup(), &measured(90, 10, Span::from_us(40))).unwrap();
        let [get, scan] = predicted.map(|p99| p99.unwrap().value);
        assert!(get > 1.0 && (40.0..400.0).contains(&scan), "{get} and {scan}");
    }

    #[test]
    fn where_too_little_is_known_or_more_was_offered_than_served_nothing_is_predicted() {
        for (gets, scans, us) in [(1, 1, 90), (90, 9, 40), (900, 0, 40), (900, 100, 600)] {
            let predicted = predict(&setup(), &measured(gets, scans, Span::from_us(us))).unwrap();
            assert_eq!(predicted, [None; 2], "{gets} GETs, {scans} SCANs of {us} us");
        }
    }
}
