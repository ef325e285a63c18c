//! The recursions against the machines, RPC by RPC.

use super::*;
use crate::load::Load;
use crate::model::SystemModel;
use crate::world::{TracedRpc, run_with, traced};
use nebula_nic::{CentralDispatch, Dispatcher, Jbsq, SingleQueue};
use nebula_requester::RetryPolicy;
use nebula_workload::Seed;

const RPCS: u64 = 1_000_000;

fn open(service: &str, load: f64) -> Load {
    Load::open(service.parse().unwrap(), load)
}

#[derive(Debug, PartialEq)]
struct Noted {
    arrived: u64,
    found: u32,
    begun: u64,
    ended: u64,
}

/// The times of an RPC that the machines do not refuse.
fn noted(&TracedRpc { arrived, found, served }: &TracedRpc) -> Option<Noted> {
    let (_, begun, ended) = served?;
    Some(Noted { arrived: arrived.as_ps(), found, begun: begun.as_ps(), ended: ended.as_ps() })
}

/// All RPCs of a run by the recursions, the warm-up included.
fn by_recursion(system: &System, load: &Load, rpcs: u64, seed: Seed) -> Vec<Noted> {
    assert!(fits(system, load), "{system:?}");
    let mut all = Vec::new();
    let whole = Length { warmup: 0, rpcs };
    let mut note = |block: &Block| {
        assert_eq!(block.first, all.len() as u64);
        all.extend((0..block.arrived.len()).map(|index| Noted {
            arrived: block.arrived[index],
            found: block.found[index],
            begun: block.begun[index],
            ended: block.ended[index],
        }));
    };
    simulate(system, Demand { load, length: whole, seed, parts: 0 }, &mut note).unwrap();
    all
}

fn recur(system: &System, load: &Load, length: Length, seed: Seed) -> Result<Tally, SimError> {
    run(system, Demand { load, length, seed, parts: 0 }).expect("it fits").map(|(tally, _)| tally)
}

#[test]
fn the_parts_of_a_window_are_those_of_the_machines() {
    let (system, load) = (System::new(Policy::Jbsq(2), 16), open("exp:1us", 0.9));
    let demand = Demand { load: &load, length: Length { warmup: 5_000, rpcs: 160_000 }, seed: Seed(3), parts: 4 };
    let (tally, ours) = run(&system, demand).unwrap().unwrap();
    // Neither a balancer to one server nor, with these retries, an unreached bound is a recursion.
    let other = System {
        reaction: nebula_requester::RetryPolicy::BackOff { first: Span::from_us(1), factor: 2, attempts: 2, seed: 1 },
        ..system.clone().queue_bound(1 << 16)
    };
    assert!(!fits(&other, &load));
    let (machines, theirs) = crate::world::run_in_parts(&other, demand).unwrap();
    assert!(machines.latency == tally.latency, "the same RPCs");
    let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
    assert_eq!((ours.sections.len(), ours.means.len(), theirs.means.len()), (4, 32, 32));
    for (ours, theirs) in ours.sections.iter().zip(&theirs.sections) {
        assert_eq!((ours.ended, theirs.ended, ours.latency.count()), (40_000, 40_000, 40_000));
        assert!((ours.latency_ps / theirs.latency_ps - 1.0).abs() < 1e-3, "but for the RPCs in service at an end");
    }
    for (ours, theirs) in ours.means.iter().zip(&theirs.means) {
        assert!((ours / theirs - 1.0).abs() < 5e-3, "{ours} {theirs}");
    }
}

/// Both give each RPC the same times, and both tallies are equal in every cell.
fn assert_equal<D: CentralDispatch>(system: &System, load: &Load, rpcs: u64, dispatch: impl Fn(u16, u64) -> D) {
    let (seed, length) = (Seed(11), Length { warmup: rpcs / 10, rpcs: rpcs - rpcs / 10 });
    let (machines, tally) = traced(system, load, length, seed, dispatch).unwrap();
    let ours = by_recursion(system, load, rpcs, seed).split_off(usize::try_from(length.warmup).unwrap());
    assert_eq!(machines.len(), ours.len());
    for (number, (ours, machines)) in ours.into_iter().zip(&machines).enumerate() {
        assert_eq!(
            Some(ours),
            noted(machines),
            "RPC {number} under {} on {} cores, {load:?}",
            system.policy,
            system.cores
        );
    }
    assert!(recur(system, load, length, seed).unwrap() == tally, "{system:?} {load:?}");
}

fn assert_policy(policy: &str, cores: u16, load: &Load, costs: Costs, rpcs: u64) {
    let system = System::new(policy.parse().unwrap(), cores).costs(costs);
    assert_equal(&system, load, rpcs, |cores, seed| -> Dispatcher { system.dispatcher(cores, seed) });
}

#[test]
fn a_million_rpcs_of_each_policy_are_those_of_the_machines() {
    let system = System::new(Policy::SingleQueue, 64);
    assert_equal(&system, &open("exp:1us", 0.95), RPCS, |cores, _| SingleQueue::new(cores));
    let system = System::new(Policy::Jbsq(1), 16);
    assert_equal(&system, &open("bimodal:500ns@0.9,5500ns@0.1", 0.9), RPCS, |cores, _| Jbsq::new(cores, 1));
    for policy in ["jbsq:2", "jbsq:5", "rss", "static", "random", "round-robin", "key-hash", "two-choices"] {
        assert_policy(policy, 16, &open("exp:1us", 0.9), Costs::ZERO, RPCS);
    }
    assert_policy("jbsq:2", 64, &open("exp:1us", 0.99), Costs::ZERO, RPCS);
}

#[test]
fn latencies_and_core_time_are_terms_of_the_recursions() {
    let ns = Span::from_ns;
    let each = [
        Costs { dispatch: ns(40), ..Costs::ZERO },
        Costs { notify: ns(25), ..Costs::ZERO },
        Costs { receive: ns(50), ..Costs::ZERO },
        Costs { dispatch: ns(40), notify: ns(25), receive: ns(50), ..Costs::ZERO },
    ];
    for costs in each {
        for policy in ["single-queue", "jbsq:2", "jbsq:3", "rss", "random", "two-choices"] {
            assert_policy(policy, 16, &open("lognormal:mean=1us,scv=2", 0.8), costs, 100_000);
        }
    }
}

#[test]
fn any_number_of_cores_arrivals_and_service_are_as_on_the_machines() {
    let bursts = |load| open("exp:1us", load).arrivals("mmpp2:50x,0.05,200us".parse().unwrap());
    for policy in ["single-queue", "mcs-lock", "jbsq:2", "jbsq:4", "round-robin", "random", "two-choices"] {
        for cores in [1, 2, 3, 100] {
            assert_policy(policy, cores, &open("exp:1us", 0.8), Costs::ZERO, 50_000);
        }
        // Arrivals and ends fall on the same picosecond.
        let together = open("fixed:1us", 0.5).arrivals("paced".parse().unwrap());
        assert_policy(policy, 4, &together, Costs::ZERO, 50_000);
        // Some RPCs take no time, so a core ends several at once.
        assert_policy(
            policy,
            4,
            &open("bimodal:0ns@0.5,2us@0.5", 0.9).arrivals("paced".parse().unwrap()),
            Costs::ZERO,
            50_000,
        );
        // Some services exceed the 32 bits of `two_each`; all cores are far from its base.
        assert_policy(policy, 4, &open("bimodal:1us@0.9,10ms@0.1", 0.9), Costs::ZERO, 20_000);
        assert_policy(policy, 16, &bursts(0.5), Costs::ZERO, 100_000);
        assert_policy(policy, 16, &open("mix:get=0.9*fixed:500ns;scan=0.1*exp:5us", 0.9), Costs::ZERO, 50_000);
        assert_policy(
            policy,
            16,
            &open("fixed:1us", 0.9).arrivals("on-off:100us,300us".parse().unwrap()),
            Costs::ZERO,
            50_000,
        );
    }
}

#[test]
fn what_is_refused_and_served_behind_a_bound_is_as_on_the_machines() {
    let services = ["exp:1us", "bimodal:500ns@0.9,5500ns@0.1", "mix:get=0.9*fixed:500ns;scan=0.1*exp:5us"];
    for (policy, bound, load) in
        [("single-queue", 20, 1.3), ("jbsq:2", 20, 1.3), ("jbsq:2", 540, 0.99), ("mcs-lock", 1, 0.9)]
    {
        for service in services {
            let (system, load) = (System::new(policy.parse().unwrap(), 16).queue_bound(bound), open(service, load));
            assert!(fits(&system, &load));
            let (seed, length) = (Seed(12), Length { warmup: 20_000, rpcs: 180_000 });
            let dispatch = |cores, seed| system.dispatcher(cores, seed);
            let (machines, tally) = traced(&system, &load, length, seed, dispatch).unwrap();
            let (mut found, mut served) = (Vec::new(), Vec::new());
            let whole = Length { warmup: 0, rpcs: 200_000 };
            let mut note = |block: &Block| {
                found.extend_from_slice(&block.found);
                served.extend(
                    (0..block.arrived.len())
                        .map(|index| [block.arrived[index], block.begun[index], block.ended[index]]),
                );
            };
            simulate(&system, Demand { load: &load, length: whole, seed, parts: 0 }, &mut note).unwrap();
            assert!(machines.iter().map(|rpc| rpc.found).eq(found.split_off(20_000)), "{policy} {service}");
            let ended: Vec<_> =
                machines.iter().filter_map(noted).map(|rpc| [rpc.arrived, rpc.begun, rpc.ended]).collect();
            assert!(served.ends_with(&ended), "{policy} {service}");
            assert!(recur(&system, &load, length, seed).unwrap() == tally, "{policy} {service}");
            assert!(tally.nacks > 0 || bound == 540, "{policy} {service}: nothing is refused");
        }
    }
}

#[test]
fn what_depends_on_more_than_the_order_of_arrival_is_left_to_the_machines() {
    let load = open("exp:1us", 0.5);
    let plain = System::new(Policy::SingleQueue, 16);
    assert!(fits(&plain, &load) && fits(&plain.clone().dedicated(2), &load));
    let host = SystemModel::named("dagger-upi").unwrap().system(16).unwrap();
    let slow = plain.clone().speeds("8x1,8x0.5".parse().unwrap());
    assert!(!fits(&host, &load) && !fits(&slow, &load) && !fits(&plain.clone().queue_bound(0), &load));
    let keyed = load.clone().keys("zipf:0.99,1000".parse().unwrap());
    let flows = load.clone().flows("10".parse().unwrap());
    let changing = load.clone().over_time("0.2/1ms,0.8/1ms".parse().unwrap());
    assert!(!fits(&plain, &keyed) && !fits(&plain, &flows) && !fits(&plain, &changing));
    let balance = crate::system::Balance::Jbsq;
    let router = crate::system::Router { bound: 2, dispatch: Span::ZERO, feedback: Span::ZERO, balance };
    assert!(!fits(&System { router: Some(router), ..plain.clone() }, &load));
    assert!(!fits(&plain, &Load::closed("exp:1us".parse().unwrap(), 4, None)));
    assert!(!fits(&plain.clone().servers(2), &load) && !fits(&System::new(Policy::Rss, 16).queue_bound(1000), &load));
    let again = RetryPolicy::BackOff { first: Span::from_us(3), factor: 2, attempts: 5, seed: 7 };
    let bounded = plain.clone().queue_bound(1000);
    assert!(
        fits(&bounded, &load)
            && !fits(&bounded.reaction(again), &load)
            && !fits(&plain.clone().queue_bound(1 << 20), &load)
    );
    for policy in ["work-stealing", "preemptive:5us", "darc", "altocumulus:2"] {
        assert!(!fits(&System::new(policy.parse().unwrap(), 16), &load), "{policy}");
    }
    let ns = Span::from_ns(40);
    let each = [
        Costs { decision: ns, ..Costs::ZERO },
        Costs { lock_handoff: ns, ..Costs::ZERO },
        Costs { hop: ns, ..Costs::ZERO },
        Costs { per_core: ns, ..Costs::ZERO },
    ];
    for costs in each {
        assert!(!fits(&System::new(Policy::McsLock, 16).costs(costs), &load), "{costs:?}");
    }
    let batch = crate::system::Batch { max: 8, cost: Span::ZERO };
    assert!(!fits(&System::new(Policy::Rss, 16).batch(batch), &load));
}

#[test]
fn the_same_is_refused_as_on_the_machines() {
    let length = Length { warmup: 0, rpcs: 100_000 };
    let refused = |system: &System, load: &Load| {
        let ours = recur(system, load, length, Seed(1)).unwrap_err();
        let machines = run_with(system, load, length, Seed(1), |cores, _| SingleQueue::new(cores)).unwrap_err();
        assert_eq!(ours, machines);
        ours
    };
    let system = System::new(Policy::SingleQueue, 4);
    assert!(matches!(refused(&system, &open("exp:1us", 1.0)), SimError::Unstable { .. }));
    assert!(matches!(refused(&system, &open("exp:1us", -1.0)), SimError::Load { .. }));
    assert!(matches!(refused(&System::new(Policy::SingleQueue, 0), &open("exp:1us", 0.5)), SimError::Nic(_)));
    // Between two arrivals are five hundred seconds: more than the clock of so many cores holds.
    let rare = open("exp:1s", 2e-6);
    assert_eq!(refused(&System::new(Policy::SingleQueue, 1000), &rare), SimError::Endless { seconds: 18_014 });
    // A few take five hours: the arrivals are in time, and the ends are not.
    let long = open("bimodal:0ns@0.99995,18100s@0.00005", 0.2);
    assert_eq!(refused(&System::new(Policy::SingleQueue, 1000), &long), SimError::Endless { seconds: 18_014 });
    for policy in ["jbsq:1", "jbsq:2", "jbsq:5", "rss", "static", "random", "round-robin", "key-hash", "two-choices"] {
        for (load, what) in [(&rare, "arrivals"), (&long, "ends")] {
            let ours = recur(&System::new(policy.parse().unwrap(), 1000), load, length, Seed(1));
            assert!(matches!(ours, Err(SimError::Endless { .. })), "{policy}, {what}: {ours:?}");
        }
    }
}

#[test]
fn a_queue_that_grows_without_limit_is_refused() {
    // Dispatch and notice take as long as the service: a third of the capacity saturates.
    let costs = Costs { dispatch: Span::from_us(1), notify: Span::from_us(1), ..Costs::ZERO };
    let system = System::new(Policy::SingleQueue, 4).costs(costs);
    let refused = recur(&system, &open("exp:1us", 0.9), Length { warmup: 0, rpcs: 20_000_000 }, Seed(1));
    assert!(matches!(refused, Err(SimError::Outgrown { .. })), "{refused:?}");
}
