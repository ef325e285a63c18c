//! The published systems against each other: in each class of workloads they stand in the order
//! that their papers found.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::Span;
use nebula_sim::{Bracket, Effort, Load, SimError, SystemModel, estimate, load_at_slo};
use nebula_workload::Preset;
use rayon::prelude::*;

/// The highest load that each system sustains on 16 cores, as a share of their capacity; 0 if it
/// meets the SLO at no load.
fn loads<const N: usize>(workload: &str, slo: Span, systems: [&str; N]) -> [f64; N] {
    let (_, service) = Preset::parse(workload).unwrap();
    let effort = Effort::default().rpcs(40_000).replications(3);
    let bracket = Bracket { lowest: 0.01, highest: 0.995, width: 0.01 };
    let load_of = |name: &&str| {
        let system = SystemModel::named(name).unwrap_or_else(|| panic!("no system {name}")).system(16).unwrap();
        match load_at_slo(&system, &Load::open(service.clone(), 0.01), slo, bracket, &effort, &|| ()) {
            Err(SimError::Slo { .. }) => 0.0,
            found => found.unwrap().load.value,
        }
    };
    let found: Vec<f64> = systems.par_iter().map(load_of).collect();
    found.try_into().unwrap()
}

#[test]
fn where_service_varies_little_stealing_beats_queues_a_core_and_hardware_beats_both() {
    let slo = Span::from_us(100);
    let [ix, rss, zygos, nebula, ideal] =
        loads("exponential:10us", slo, ["ix", "rss", "zygos", "nebula", "single-queue"]);
    assert!(
        ix < zygos && rss < zygos && zygos < nebula && nebula <= ideal + 0.005,
        "{ix} {rss} {zygos} {nebula} {ideal}"
    );
    assert!(nebula > 0.97 * ideal, "what the NIC costs is hidden by a second RPC at each core");
}

#[test]
fn at_a_microsecond_software_bears_a_fraction_of_what_hardware_does() {
    let slo = Span::from_us(10);
    let systems = ["ix", "zygos", "shinjuku", "rpcvalet-software", "rpcvalet", "nebula", "nanopu", "altocumulus-int"];
    let [ix, zygos, shinjuku, lock, rpcvalet, nebula, nanopu, altocumulus] = loads("exponential:1us", slo, systems);
    let hardware = [rpcvalet, nebula, nanopu, altocumulus];
    let least = hardware.into_iter().fold(1.0, f64::min);
    assert!(hardware.iter().all(|load| *load > 0.85), "{hardware:?} are comparable");
    let software = [ix, zygos, shinjuku, lock];
    assert!(software.iter().all(|load| *load < 0.6 * least), "{software:?} against {hardware:?}");
    assert!(rpcvalet > 1.5 * lock, "a lock costs what RPCValet says: {lock} against {rpcvalet}");
}

#[test]
fn where_few_rpcs_are_very_long_preemption_and_reserved_cores_win() {
    let slo = Span::from_us(50);
    let systems = ["ix", "zygos", "persephone-cfcfs", "shinjuku", "persephone", "concord"];
    let [ix, zygos, cfcfs, shinjuku, persephone, concord] = loads("extreme-bimodal", slo, systems);
    assert!(shinjuku > 1.5 * ix && shinjuku > 1.5 * zygos, "ix {ix}, zygos {zygos}, shinjuku {shinjuku}");
    assert!(persephone > shinjuku, "reserved cores cost no interrupt: {persephone} against {shinjuku}");
    assert!(concord > shinjuku, "a look at a line costs less than an interrupt: {concord} against {shinjuku}");
    assert!(persephone > cfcfs && shinjuku > cfcfs, "c-FCFS {cfcfs}, shinjuku {shinjuku}, persephone {persephone}");
}

#[test]
fn a_p99_that_is_kept_by_starving_the_long_ones_keeps_no_slo() {
    // One RPC in 200 is long: past what its dispatcher can do, Shinjuku lets those wait.
    let (_, service) = Preset::parse("extreme-bimodal").unwrap();
    let shinjuku = SystemModel::named("shinjuku").unwrap().system(16).unwrap();
    let effort = Effort::default().rpcs(100_000).replications(2);
    let at = |load| estimate(&shinjuku, &Load::open(service.clone(), load), &effort, &|| ()).unwrap();
    let slo = Span::from_us(50);
    let (calm, past) = (at(0.4), at(0.7));
    assert!(calm.meets(slo) && !calm.is_starving);
    assert!(past.p99().value < slo.as_ps() as f64, "the short ones are in time: {:?}", past.p99());
    assert!(past.is_starving && !past.meets(slo));
}

#[test]
fn short_handlers_are_best_run_where_they_arrive_and_long_ones_in_a_pool() {
    let systems = ["dispatch-threads", "worker-threads", "single-queue"];
    let [dispatch, worker, ideal] = loads("bimodal-1:1us", Span::from_us(20), systems);
    assert!(dispatch > 1.5 * worker && ideal > dispatch, "at 1 µs: {dispatch}, {worker}, {ideal}");
    let [dispatch, worker, ideal] = loads("bimodal-1:30us", Span::from_us(600), systems);
    assert!(worker > 1.1 * dispatch && ideal > worker, "at 30 µs: {dispatch}, {worker}, {ideal}");
}
