//! Preemption against what theory says of it, and against the policy that it becomes where it costs
//! nothing or never comes.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Quantum, Span, queue_depth_mean};
use nebula_sim::{
    Costs, Effort, Interval, Length, Load, Overheads, Preemption, SimError, System, Tally, estimate, run,
};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 10_000, rpcs: 60_000 };
const BIMODAL: &str = "bimodal:500ns@0.9,5500ns@0.1";
const EXTREME: &str = "mix:short=0.995*fixed:500ns;long=0.005*fixed:500us";

fn preemptive(quantum: Span, cores: u16) -> System {
    System::new(Policy::Preemptive(Quantum::try_new(quantum).unwrap()), cores)
}

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

fn mean_us(system: &System, service: &str, load: f64) -> Interval {
    let load = Load::open(service.parse().unwrap(), load);
    let effort = Effort::default().rpcs(60_000).replications(8);
    Interval::of(&estimate(system, &load, &effort, &|| ()).unwrap().mean_ps).scaled(1e-6)
}

/// All that a tally says in numbers that cannot agree by accident.
fn figures(tally: &Tally) -> (u64, u64, u128, f64, f64, f64, Overheads) {
    let Tally { served, nacks, busy_ps, overheads, .. } = *tally;
    let tails = tally.latency.quantile(0.99) + tally.latency.quantile(0.999);
    (served, nacks, busy_ps, tally.latency.mean(), tails, tally.queue_depth.mean(), overheads)
}

#[test]
fn a_short_quantum_is_processor_sharing_whatever_the_service_times() {
    // M/G/1-PS: S / (1 - load), for any service of mean S.
    let shared = preemptive(Span::from_ns(40), 1);
    for service in ["exp:1us", BIMODAL, "fixed:1us"] {
        for load in [0.5, 0.8] {
            let found = mean_us(&shared, service, load);
            let expected = 1.0 / (1.0 - load);
            let is_near = found.contains(expected) || (found.value / expected - 1.0).abs() < 0.02;
            assert!(is_near, "{service} at {load}: {found:?}, not {expected}");
        }
    }
    let in_order = mean_us(&System::new(Policy::SingleQueue, 1), BIMODAL, 0.8);
    assert!(in_order.lo > 1.2 * 5.0, "c-FCFS is not: {in_order:?}");
}

#[test]
fn cores_that_take_turns_have_the_mean_of_mmk() {
    for (cores, load) in [(4, 0.8), (16, 0.85)] {
        let offered = f64::from(cores) * load;
        let expected = 1.0 + queue_depth_mean(u32::from(cores), offered) / offered;
        let found = mean_us(&preemptive(Span::from_ns(100), cores), "exp:1us", load);
        let is_near = found.contains(expected) || (found.value / expected - 1.0).abs() < 0.02;
        assert!(is_near, "{cores} cores at {load}: {found:?}, not {expected}");
    }
}

#[test]
fn a_quantum_that_never_ends_is_one_queue_rpc_by_rpc() {
    for (cores, service, load) in [(1, "exp:1us", 0.8), (16, BIMODAL, 0.9), (64, "fixed:1us", 0.99)] {
        for (depth, policy) in [(1, "single-queue"), (2, "jbsq:2")] {
            let endless = preemptive(Span::MAX, cores).preemption(Preemption { depth, ..Preemption::IDEAL });
            let plain = System::new(policy.parse().unwrap(), cores);
            let (found, expected) = (tally(&endless, service, load), tally(&plain, service, load));
            assert_eq!(figures(&found), figures(&expected), "{policy}, {cores} cores, {service}");
        }
    }
    let bounded = |system: System| tally(&system.queue_bound(8), "exp:1us", 1.2);
    let (found, expected) = (bounded(preemptive(Span::MAX, 4)), bounded(System::new(Policy::SingleQueue, 4)));
    assert_eq!(figures(&found), figures(&expected), "and refuses what one queue refuses");
}

#[test]
fn costs_of_dispatch_are_those_of_one_queue() {
    let costs =
        Costs { dispatch: Span::from_ns(30), notify: Span::from_ns(20), receive: Span::from_ns(40), ..Costs::ZERO };
    for (depth, policy) in [(1, "single-queue"), (2, "jbsq:2")] {
        let endless = preemptive(Span::MAX, 8).preemption(Preemption { depth, ..Preemption::IDEAL }).costs(costs);
        let plain = System::new(policy.parse().unwrap(), 8).costs(costs);
        let (found, expected) = (tally(&endless, "exp:1us", 0.7), tally(&plain, "exp:1us", 0.7));
        assert_eq!(figures(&found), figures(&expected), "{policy}");
    }
}

#[test]
fn short_rpcs_do_not_wait_behind_long_ones() {
    let p99_of_short = |system: &System| tally(system, EXTREME, 0.7).by_type[0].latency.quantile(0.99) / 1e6;
    let (plain, turns) = (System::new(Policy::SingleQueue, 16), preemptive(Span::from_us(5), 16));
    let (in_order, in_turns) = (p99_of_short(&plain), p99_of_short(&turns));
    assert!(in_turns < 15.0 && in_order > 5.0 * in_turns, "{in_turns} and {in_order} µs");
}

#[test]
fn what_an_interrupt_takes_is_lost_to_service_and_counted() {
    let preemption = Preemption { receive: Span::from_ns(600), switch: Span::from_ns(50), ..Preemption::IDEAL };
    let free = tally(&preemptive(Span::from_us(5), 16), EXTREME, 0.6);
    let dear = tally(&preemptive(Span::from_us(5), 16).preemption(preemption), EXTREME, 0.6);
    assert_eq!((free.overheads, free.busy_ps), (Overheads::ZERO, dear.busy_ps));
    assert_eq!(dear.overheads.preemption_ps % 650_000, 0, "whole interrupts");
    assert_eq!(dear.overheads.total_ps(), dear.overheads.preemption_ps);
    // At most one each 5 µs of service; at this load some of the long RPCs' quanta end while others
    // wait.
    let interrupts = (dear.overheads.preemption_ps / 650_000) as f64;
    let quanta = dear.busy_ps as f64 / 5e6;
    assert!(interrupts < quanta && interrupts > 0.05 * quanta, "{interrupts} of {quanta}");
    assert!(dear.latency.mean() > free.latency.mean());
}

#[test]
fn who_is_interrupted_always_is_interrupted_once_a_quantum() {
    let preemption = Preemption { interrupts_always: true, switch: Span::from_ns(10), ..Preemption::IDEAL };
    // 2,050 ns are four quanta and a rest: four interrupts each, whatever the load.
    let found = tally(&preemptive(Span::from_ns(500), 4).preemption(preemption), "fixed:2050ns", 0.3);
    assert_eq!(found.overheads.preemption_ps, found.served * 40_000);
    let waits = Preemption { interrupts_always: false, ..preemption };
    let calm = tally(&preemptive(Span::from_ns(500), 4).preemption(waits), "fixed:2050ns", 0.3);
    assert!(calm.overheads.preemption_ps < found.overheads.preemption_ps / 10, "at low load nobody waits");
}

#[test]
fn safe_points_take_their_share_and_delay_what_is_taken() {
    let every = Span::from_ns(100);
    let checks = Preemption { safe_point_every: every, safe_point_check: Span::from_ns(1), ..Preemption::IDEAL };
    let found = tally(&preemptive(Span::from_us(5), 16).preemption(checks), EXTREME, 0.5);
    let share = found.overheads.preemption_ps as f64 / found.busy_ps as f64;
    assert!((share - 0.01).abs() < 1e-4, "a check of 1 ns each 100 ns: {share}");
    // Where code can be left only every 20 µs, a quantum of 5 µs is one of 20.
    let rare = Preemption { safe_point_every: Span::from_us(20), ..Preemption::IDEAL };
    let [rare, five, twenty] = [
        preemptive(Span::from_us(5), 16).preemption(rare),
        preemptive(Span::from_us(5), 16),
        preemptive(Span::from_us(20), 16),
    ]
    .map(|system| tally(&system, EXTREME, 0.7).by_type[0].latency.quantile(0.99));
    assert!((rare / twenty - 1.0).abs() < 0.15 && rare > 1.3 * five, "{rare} {five} {twenty}");
}

#[test]
fn one_dispatcher_carries_so_many_rpcs_and_no_more() {
    let costs = Costs { decision: Span::from_ns(200), ..Costs::ZERO };
    let system = preemptive(Span::from_us(5), 64).costs(costs).queue_bound(200);
    let found = tally(&system, "exp:1us", 0.9);
    assert!((found.served_rps() / 5e6 - 1.0).abs() < 0.01, "{}", found.served_rps());
    // An interrupt is its work too, and behind that of 64 cores it comes when its RPC is over: two
    // actions an RPC.
    let preemption = Preemption { send: Span::from_ns(200), interrupts_always: true, ..Preemption::IDEAL };
    let system = preemptive(Span::from_us(5), 64).costs(costs).preemption(preemption).queue_bound(200);
    let found = tally(&system, "fixed:12us", 0.99);
    assert!((found.served_rps() / 2.5e6 - 1.0).abs() < 0.01, "{}", found.served_rps());
    assert_eq!(found.overheads, Overheads::ZERO, "nobody was interrupted in time");
}

#[test]
fn depth_two_hides_the_way_to_the_core() {
    let costs = Costs { dispatch: Span::from_ns(200), notify: Span::from_ns(200), ..Costs::ZERO };
    let served = |depth| {
        let preemption = Preemption { depth, ..Preemption::IDEAL };
        let system = preemptive(Span::from_us(5), 8).costs(costs).preemption(preemption).queue_bound(64);
        tally(&system, "fixed:1us", 1.2).served_rps() / 8e6
    };
    assert!((served(1) - 1.0 / 1.4).abs() < 0.01 && (served(2) - 1.0).abs() < 0.01, "{} {}", served(1), served(2));
}

#[test]
fn a_dispatcher_that_serves_adds_what_it_can_to_its_cores() {
    let served = |dispatcher_serves| {
        let preemption = Preemption { dispatcher_serves, depth: 2, ..Preemption::IDEAL };
        let system = preemptive(Span::from_us(5), 2).preemption(preemption).queue_bound(16);
        tally(&system, "fixed:1us", 2.0).served_rps() / 1e6
    };
    assert!(
        (served(false) - 2.0).abs() < 0.01 && (served(true) - 3.0).abs() < 0.01,
        "{} {}",
        served(false),
        served(true)
    );
    let costs = Costs { decision: Span::from_ns(100), ..Costs::ZERO };
    let preemption = Preemption { dispatcher_serves: true, depth: 2, ..Preemption::IDEAL };
    let system = preemptive(Span::from_us(5), 2).preemption(preemption).costs(costs).queue_bound(16);
    let found = tally(&system, "fixed:1us", 2.0).served_rps() / 1e6;
    // Two million dispatches a second take a fifth of its time.
    assert!((found - 2.8).abs() < 0.02, "{found}");
}

#[test]
fn a_dispatcher_with_too_much_to_do_still_ends_what_it_serves() {
    let costs = Costs { decision: Span::from_ns(300), ..Costs::ZERO };
    let preemption = Preemption { dispatcher_serves: true, depth: 2, ..Preemption::IDEAL };
    let system = preemptive(Span::from_us(5), 8).preemption(preemption).costs(costs).queue_bound(16);
    let found = tally(&system, "fixed:1us", 2.0);
    assert_eq!(found.served + found.given_up, LENGTH.rpcs);
    // Half of its time is worth at most half a million RPCs per second, the other half dispatches
    // half of what it could.
    let served_mrps = found.served_rps() / 1e6;
    assert!(served_mrps > 1.5 && served_mrps < 4.0, "{served_mrps}");
}

#[test]
fn what_stays_at_its_core_takes_turns_there() {
    let nanopu = Preemption { stays_at_core: true, depth: 2, ..Preemption::IDEAL };
    let swaps = preemptive(Span::from_us(1), 16).preemption(nanopu);
    let plain = System::new(Policy::Jbsq(2), 16);
    let p99_of_short = |system: &System| tally(system, EXTREME, 0.7).by_type[0].latency.quantile(0.99) / 1e6;
    let (swapped, behind) = (p99_of_short(&swaps), p99_of_short(&plain));
    assert!(swapped < behind, "{swapped} and {behind} µs");
    // Those that share a core share its time: with fixed times a later one cannot overtake, so each
    // waits for the other's turns.
    let found = tally(&swaps, "fixed:10us", 0.5);
    assert_eq!((found.served, found.overheads), (LENGTH.rpcs, Overheads::ZERO));
}

#[test]
fn a_queue_a_type_keeps_each_types_slo() {
    let typed = Preemption { slo_services: Some(10), ..Preemption::IDEAL };
    let service = "mix:short=0.5*fixed:1us;long=0.5*fixed:100us";
    let slowdown = |preemption| {
        let found = tally(&preemptive(Span::from_us(5), 8).preemption(preemption), service, 0.85);
        [0, 1].map(|kind: usize| found.by_type[kind].slowdown.quantile(0.99) / 1e3)
    };
    let ([short, long], [short_in_one, long_in_one]) = (slowdown(typed), slowdown(Preemption::IDEAL));
    assert!(short < 0.7 * short_in_one, "{short} and {short_in_one}");
    assert!(long < 1.3 * long_in_one, "{long} and {long_in_one}: at the cost of a little for the long ones");
}

#[test]
fn every_rpc_ends_once_and_the_same_seed_gives_the_same_bytes() {
    let costs = Costs {
        dispatch: Span::from_ns(37),
        notify: Span::from_ns(53),
        receive: Span::from_ns(11),
        decision: Span::from_ns(71),
        ..Costs::ZERO
    };
    let base = Preemption {
        send: Span::from_ns(149),
        receive: Span::from_ns(606),
        switch: Span::from_ns(50),
        safe_point_every: Span::from_ns(90),
        safe_point_check: Span::from_ns(1),
        ..Preemption::IDEAL
    };
    for preemption in [
        base,
        Preemption { depth: 2, dispatcher_serves: true, ..base },
        Preemption { depth: 3, interrupts_always: true, slo_services: Some(10), ..base },
        Preemption { depth: 2, stays_at_core: true, ..base },
    ] {
        for servers in [1, 3] {
            let system =
                preemptive(Span::from_us(2), 5).preemption(preemption).costs(costs).servers(servers).queue_bound(40);
            // A closed loop would run dry if one were lost, and panic if one ended twice.
            let closed = Load::closed("exp:3us".parse().unwrap(), 90, Some("exp:2us".parse().unwrap()));
            let open = Load::open(EXTREME.parse().unwrap(), 0.9);
            for load in [closed, open] {
                let once = || run(&system, &load, LENGTH, Seed(7)).unwrap();
                let (first, again) = (once(), once());
                assert_eq!(first.served + first.given_up, LENGTH.rpcs, "{preemption:?}");
                assert_eq!(figures(&first), figures(&again));
                assert!(first.overheads.preemption_ps > 0);
            }
        }
    }
}

#[test]
fn no_core_rests_while_an_rpc_waits() {
    // Offered more than can be served, all cores work all the time: what is served is what they can
    // do.
    for depth in [1, 2, 4] {
        for quantum_ns in [300, 5_000] {
            let preemption = Preemption { depth, ..Preemption::IDEAL };
            let system = preemptive(Span::from_ns(quantum_ns), 7).preemption(preemption).queue_bound(30);
            let found = tally(&system, BIMODAL, 1.5);
            assert!((found.served_rps() / 7e6 - 1.0).abs() < 0.02, "{depth} {quantum_ns}: {}", found.served_rps());
        }
    }
}

#[test]
fn what_does_not_hold_together_is_refused() {
    let refused = |preemption| preemptive(Span::from_us(5), 4).preemption(preemption).validate().unwrap_err();
    for wrong in [
        Preemption { depth: 0, ..Preemption::IDEAL },
        Preemption { depth: 65, ..Preemption::IDEAL },
        Preemption { safe_point_check: Span::from_ns(1), ..Preemption::IDEAL },
        Preemption { slo_services: Some(0), ..Preemption::IDEAL },
        Preemption { stays_at_core: true, ..Preemption::IDEAL },
        Preemption { stays_at_core: true, depth: 2, dispatcher_serves: true, ..Preemption::IDEAL },
    ] {
        let error = refused(wrong);
        assert!(matches!(error, SimError::Preemption { .. }) && !error.to_string().contains('\n'), "{error}");
    }
    let elsewhere = System::new(Policy::Jbsq(2), 4).preemption(Preemption { depth: 2, ..Preemption::IDEAL });
    assert!(matches!(elsewhere.validate(), Err(SimError::CostWithout { .. })));
    let mix = (0..64).map(|kind| format!("k{kind}=0.0078125*fixed:1us;")).collect::<String>();
    let load = Load::open(format!("mix:{mix}last=0.5*fixed:1us").parse().unwrap(), 0.5);
    let typed = preemptive(Span::from_us(5), 4).preemption(Preemption { slo_services: Some(10), ..Preemption::IDEAL });
    assert!(matches!(run(&typed, &load, LENGTH, Seed(1)), Err(SimError::Types { types: 65 })));
}
