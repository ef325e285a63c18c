//! Loads that change over time: what arrives when, and how long a backlog takes to drain.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_sim::study::{Ask, OverTime, Point};
use nebula_sim::{Effort, Length, Load, System, run};
use nebula_workload::{Arrivals, Seed};

fn load(service: &str, profile: &str) -> Load {
    Load::open(service.parse().unwrap(), 0.5).over_time(profile.parse().unwrap())
}

fn over_time(system: System, load: Load, rpcs: u64) -> OverTime {
    let effort = Effort { warmup: Some(10_000), ..Effort::default().rpcs(rpcs).replications(3) };
    let slo = Span::from_us(10);
    let point = Point { name: "x".to_owned(), system, load, slo, ask: Ask::Measure, effort };
    point.run(Seed(4)).unwrap().over_time.unwrap()
}

#[test]
fn a_fixed_backlog_drains_when_arithmetic_says() {
    // Over 100 µs half an RPC a µs too many: 50 µs of work, which the 0.5 of the core that are left
    // take 100 µs for.
    let system = System::new(Policy::SingleQueue, 1);
    let paced = load("fixed:1us", "0.5/300us,1.5/100us").arrivals(Arrivals::Paced);
    let found = over_time(system, paced, 50_000);
    // An RPC t µs after the peak takes 1 + 50 − t/2 µs: within 10 µs from 82 µs on. A slot is 4 µs.
    let recovery = found.recovery.value / 1e3;
    assert!((82.0..=86.5).contains(&recovery), "{recovery} µs");
    assert!((found.peak_p99.value / 51e3 - 1.0).abs() < 0.03, "{:?}", found.peak_p99);
    let load_of = |us: f64| found.slots.iter().rfind(|slot| slot.at <= us * 1e3).unwrap().load;
    assert_eq!([load_of(10.0), load_of(299.0), load_of(301.0)], [0.5, 0.5, 1.5]);
}

#[test]
fn a_chance_backlog_drains_in_the_time_of_its_work() {
    // 64 cores: 400 µs at 1.25 leave 100 µs of work a core, which 0.75 of the cores take 133 µs
    // for; chance adds little.
    let system = System::new(Policy::SingleQueue, 64);
    let found = over_time(system, load("exp:1us", "0.25/1600us,1.25/400us"), 1_000_000);
    let recovery = found.recovery.value / 1e3;
    // The p99 of exponential services is 4.6 µs: 10 µs are kept once some 5 µs of work are left, 7
    // µs before the end.
    assert!((110.0..=145.0).contains(&recovery), "{recovery} µs");
    // A queue a core is not done as soon.
    let random = over_time(System::new(Policy::Random, 64), load("exp:1us", "0.25/1600us,1.25/400us"), 1_000_000);
    assert!(random.recovery.value / 1e3 > recovery, "{:?}", random.recovery);
}

#[test]
fn each_part_of_a_period_has_the_arrivals_of_its_load() {
    let system = System::new(Policy::SingleQueue, 16);
    let tally =
        |profile| run(&system, &load("exp:1us", profile), Length { warmup: 10_000, rpcs: 1_000_000 }, Seed(1)).unwrap();
    for profile in ["0.2/200us,0.8/300us", "wave:0.1..0.9/400us"] {
        let found = tally(profile);
        let of_load: nebula_sim::Profile = profile.parse().unwrap();
        let slots = found.over_time.as_ref().unwrap().slots();
        let sum: u64 = slots.iter().map(nebula_sim::Slot::sent).sum();
        assert_eq!(sum, 1_000_000);
        let width = of_load.period().as_ps() / 100;
        for (index, slot) in (0..).zip(slots) {
            let middle = of_load.at(nebula_nic::Timestamp::from_ps(width * index + width / 2));
            let expected = middle / of_load.mean() * 10_000.0;
            // Ten standard deviations, and the steps of a wave within a slot.
            let room = 10.0 * expected.sqrt() + 0.06 * 10_000.0 * f64::from(u8::from(profile.starts_with("wave")));
            assert!((slot.sent() as f64 - expected).abs() < room, "{profile}, {index}: {} for {expected}", slot.sent());
        }
    }
}

#[test]
fn a_load_that_does_not_change_is_a_plain_one() {
    let system = System::new(Policy::Jbsq(2), 16);
    let plain = Load::open("exp:1us".parse().unwrap(), 0.7);
    let of = |load: &Load| run(&system, load, Length::of(20_000), Seed(3)).unwrap();
    let (plain, steps) = (of(&plain), of(&load("exp:1us", "0.7/1ms,0.7/3ms")));
    assert_eq!(plain.served_rps(), steps.served_rps());
    assert_eq!(plain.latency.mean(), steps.latency.mean());
    assert!(plain.over_time.is_none() && steps.over_time.is_some());
}
