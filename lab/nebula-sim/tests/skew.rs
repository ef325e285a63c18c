//! Flows and keys that RPCs share: the load of the hottest core follows from their shares and the
//! hash of the NIC.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Choose, Header, NodeId, Policy, Rss};
use nebula_sim::{Effort, Flows, Length, Load, Population, SimError, System, estimate, run};
use nebula_workload::Seed;

const CORES: u16 = 8;

fn load(at: f64) -> Load {
    Load::open("exp:1us".parse().unwrap(), at)
}

/// The share of the hottest core, from the shares of all flows and the core of each.
fn hottest(population: Population, mut core: impl FnMut(u32) -> usize) -> f64 {
    let mut shares = [0.0_f64; CORES as usize];
    (0..population.count).zip(population.shares()).for_each(|(rank, share)| shares[core(rank)] += share);
    shares.into_iter().fold(0.0, f64::max)
}

#[test]
fn the_hottest_core_of_rss_is_as_busy_as_its_flows_make_it() {
    let length = Length { warmup: 20_000, rpcs: 200_000 };
    for (flows, at) in [("40", 0.3), ("zipf:0.9,1000", 0.25), ("zipf:1.5,100000", 0.15)] {
        let population: Population = flows.parse().unwrap();
        let load = load(at).flows(Flows::Among(population));
        for seed in [Seed(1), Seed(2)] {
            let mut rss = Rss::new(CORES, seed.replica(0).0);
            let share =
                hottest(population, |flow| rss.choose(&Header { snid: NodeId(flow), ..Header::default() }).index());
            let theory = share * at * f64::from(CORES);
            let found = run(&System::new(Policy::Rss, CORES), &load, length, seed).unwrap();
            assert!((found.hottest() / theory - 1.0).abs() < 0.02, "{flows}: {} for {theory}", found.hottest());
            assert!(theory > 1.15 * at, "{flows}: an uneven case was meant, not {theory}");
            let even = run(&System::new(Policy::Jbsq(2), CORES), &load, length, seed).unwrap();
            assert!(
                even.latency.quantile(0.99) < found.latency.quantile(0.99),
                "{flows}: a shared queue has no hot core"
            );
        }
    }
}

#[test]
fn one_flow_is_one_core() {
    // All RPCs go to one core of eight, which is M/M/1.
    let load = load(0.1).flows("1".parse().unwrap());
    for policy in [Policy::Rss, Policy::Static] {
        let found = run(&System::new(policy, CORES), &load, Length::of(400_000), Seed(5)).unwrap();
        assert!((found.hottest() - 0.8).abs() < 0.01, "{policy}: {}", found.hottest());
        assert!((found.latency.mean() / 5e6 - 1.0).abs() < 0.04, "{policy}: {}", found.latency.mean());
    }
}

#[test]
fn a_hot_key_heats_its_core_and_no_other_policy() {
    // All RPCs about one key go to one core of eight.
    let one = run(
        &System::new(Policy::KeyHash, CORES),
        &load(0.1).keys(Population::uniform(1)),
        Length::of(200_000),
        Seed(2),
    );
    assert!((one.unwrap().hottest() - 0.8).abs() < 0.01);
    let keys: Population = "zipf:0.99,10000".parse().unwrap();
    let first = keys.shares().next().unwrap();
    let effort = Effort::default().rpcs(50_000).replications(4);
    let hottest = |policy| {
        let found = estimate(&System::new(policy, CORES), &load(0.4).keys(keys), &effort, &|| ()).unwrap();
        found.tally.hottest() / 0.4 / f64::from(CORES)
    };
    let (by_key, by_chance) = (hottest(Policy::KeyHash), hottest(Policy::Random));
    assert!(by_key > first && by_key > 1.2 / 8.0, "{by_key} of the RPCs");
    assert!(by_chance < 1.05 / 8.0, "{by_chance}");
    // RSS does not look at keys, and key-hash not at flows.
    assert!(hottest(Policy::Rss) < 1.05 / 8.0);
}

#[test]
fn what_the_hottest_core_cannot_serve_is_refused_unless_the_queue_has_a_bound() {
    let load = load(0.5).flows("zipf:1.5,100".parse().unwrap());
    let system = System::new(Policy::Rss, CORES);
    let error = run(&system, &load, Length::of(1_000), Seed(1)).unwrap_err();
    let SimError::HotCore { most, times, .. } = error else { panic!("{error}") };
    assert!((most * times - 1.0).abs() < 1e-9 && times > 3.0, "{error}");
    assert!(run(&system, &load.clone().at(0.99 * most), Length::of(1_000), Seed(1)).is_ok());
    let bounded = run(&system.queue_bound(80), &load, Length::of(50_000), Seed(1)).unwrap();
    assert!(bounded.accepted() < 0.9, "{}", bounded.accepted());
    assert!(run(&System::new(Policy::WorkStealing, CORES), &load, Length::of(1_000), Seed(1)).is_ok());
}

#[test]
fn flows_and_keys_leave_arrivals_and_services_as_they_are() {
    let system = System::new(Policy::SingleQueue, CORES);
    let tally = |load: &Load| run(&system, load, Length::of(20_000), Seed(9)).unwrap();
    let (plain, shared) = (tally(&load(0.8)), tally(&load(0.8).flows("3".parse().unwrap()).keys("5".parse().unwrap())));
    assert_eq!((plain.latency.mean(), plain.window), (shared.latency.mean(), shared.window));
    assert_eq!(plain.hottest(), 0.0, "where cores do not differ they are not counted");
}

/// A hundred flows by Zipf's law offer half as much again as can be served; the share of the light
/// ones' RPCs that is NACKed, and of all.
fn nacked(policy: &str, fair_shares: bool, flows: &str) -> (Option<f64>, f64) {
    let system = System::new(policy.parse().unwrap(), 16).queue_bound(100);
    let system = System { fair_shares, ..system };
    let load = load(1.5).flows(Flows::Among(flows.parse().unwrap()));
    let tally = run(&system, &load, Length { warmup: 10_000, rpcs: 100_000 }, Seed(1)).unwrap();
    (tally.light.and_then(|light| light.accepted()).map(|accepted| 1.0 - accepted), 1.0 - tally.accepted())
}

#[test]
fn with_fair_shares_the_flows_that_send_little_are_served_first() {
    for policy in ["single-queue", "jbsq:2", "two-choices"] {
        let (light, all) = nacked(policy, false, "zipf:1.2,100");
        assert!((light.unwrap() - all).abs() < 0.02, "{policy}: whose they are is not asked: {light:?} of {all}");
        let (light, fair) = nacked(policy, true, "zipf:1.2,100");
        assert!(light.unwrap() < all / 3.0, "{policy}: {light:?} of {fair}");
        assert!((fair - all).abs() < 0.02, "{policy}: as many are served: {fair} and {all} NACKed");
    }
    assert_eq!(nacked("jbsq:2", true, "100").0, None, "none sends less than another");
}

#[test]
fn fair_shares_are_refused_where_nothing_or_nobody_would_be_refused_by_them() {
    let of = |policy: &str| System { fair_shares: true, ..System::new(policy.parse().unwrap(), 16) };
    for bound in [None, Some(0)] {
        assert_eq!(System { queue_bound: bound, ..of("jbsq:2") }.validate(), Err(SimError::SharesWithoutBound));
    }
    for policy in ["work-stealing", "preemptive:5us", "darc", "altocumulus:4"] {
        assert!(of(policy).queue_bound(10).validate().is_err(), "{policy}");
    }
    assert!(of("rss").queue_bound(10).validate().is_ok());
}
