//! Cores of different speeds, against the chains that two of them make and against one core alone.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::Policy;
use nebula_sim::{Length, Load, SimError, System, Tally, run};
use nebula_workload::Seed;

fn tally(policy: Policy, speeds: &str, service: &str, load: f64) -> Tally {
    let speeds: nebula_sim::Speeds = speeds.parse().unwrap();
    let system = System::new(policy, u16::try_from(speeds.cores()).unwrap()).speeds(speeds);
    let length = Length { warmup: 50_000, rpcs: 1_000_000 };
    run(&system, &Load::open(service.parse().unwrap(), load), length, Seed(11)).unwrap()
}

#[track_caller]
fn assert_near(what: &str, theory: f64, found: f64, share: f64) {
    assert!((found / theory - 1.0).abs() < share, "{what}: theory {theory}, found {found}");
}

#[test]
fn two_cores_of_one_queue_are_the_chain_of_mm2_with_two_rates() {
    // Rates per µs; an RPC that finds both idle goes to the lowest core.
    for (speeds, first, second) in [("1,0.25", 1.0, 0.25), ("0.25,1", 0.25, 1.0)] {
        for load in [0.3, 0.6, 0.8] {
            let both: f64 = first + second;
            let arrivals = load * both;
            // Weights of the states, relative to that of two RPCs: none, one at the first core, one
            // at the second.
            let at_second = first / (arrivals + second);
            let at_first = both / arrivals - at_second;
            let none = (first * at_first + second * at_second) / arrivals;
            let two_or_more = 1.0 / (1.0 - load);
            let sum = none + at_first + at_second + two_or_more;
            let within = at_first + at_second + 2.0 * two_or_more + load / ((1.0 - load) * (1.0 - load));
            let found = tally(Policy::SingleQueue, speeds, "exp:1us", load);
            let what = format!("speeds {speeds} at {load}");
            assert_near(&what, within / sum / arrivals, found.latency.mean() / 1e6, 0.02);
            let busy = [at_second, at_first].map(|idle| 1.0 - (none + idle) / sum);
            assert_near(&what, busy[0].max(busy[1]), found.hottest(), 0.01);
        }
    }
}

#[test]
fn cores_that_are_chosen_at_random_are_queues_of_their_own() {
    // Each core gets half of the RPCs: M/M/1 with rates of 1 and 0.5.
    let found = tally(Policy::Random, "1,0.5", "exp:1us", 0.4);
    let arrivals = 0.4 * 1.5 / 2.0;
    let theory = (1.0 / (1.0 - arrivals) + 1.0 / (0.5 - arrivals)) / 2.0;
    assert_near("mean latency", theory, found.latency.mean() / 1e6, 0.02);
    assert_near("the slower core", arrivals / 0.5, found.hottest(), 0.01);
}

#[test]
fn a_slow_core_takes_longer_by_its_speed_under_every_policy_that_takes_speeds() {
    for policy in ["single-queue", "jbsq:2", "rss", "mcs-lock", "two-choices", "work-stealing", "altocumulus:1"] {
        let found = tally(policy.parse().unwrap(), "0.25", "fixed:1us", 0.001);
        assert_near(policy, 4.0, found.latency.quantile(0.5) / 1e6, 0.002);
        assert_near(policy, 0.001, found.hottest(), 0.02);
    }
    // The idle fast core takes what waits at the slow one.
    let stolen = tally(Policy::WorkStealing, "1,0.1", "fixed:1us", 0.6);
    let kept = tally(Policy::SingleQueue, "1,0.1", "fixed:1us", 0.6);
    assert!(stolen.hottest() > 0.5 && stolen.latency.mean() < 2.0 * kept.latency.mean(), "{stolen:?}");
}

#[test]
fn what_speeds_cannot_do_is_refused() {
    let load = |at| Load::open("exp:1us".parse().unwrap(), at);
    let refused = |policy: &str, cores, at| {
        let system = System::new(policy.parse().unwrap(), cores).speeds("1,0.5".parse().unwrap());
        run(&system, &load(at), Length::of(1_000), Seed(1)).unwrap_err()
    };
    assert!(matches!(refused("jbsq:2", 3, 0.5), SimError::Speeds { speeds: 2, workers: 3 }));
    for policy in ["preemptive:5us", "darc"] {
        assert!(matches!(refused(policy, 2, 0.5), SimError::CostWithout { .. }), "{policy}");
    }
    // The slow one of two cores gets half: it saturates at two thirds of the capacity of both.
    let system = |policy| System::new(policy, 2).speeds("1,0.5".parse().unwrap());
    let saturation = |policy| system(policy).saturation(&"exp:1us".parse().unwrap());
    assert_near("a queue a core", 2.0 / 3.0, saturation(Policy::Random), 1e-9);
    assert_near("one queue", 1.0, saturation(Policy::Jbsq(2)), 1e-9);
}
