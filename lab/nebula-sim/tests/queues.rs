//! Cores with queues in software: stealing and batching against what they become when they cost
//! nothing.

#![expect(clippy::unwrap_used, reason = "a test may")]

use nebula_nic::{Policy, Span, queue_depth_mean};
use nebula_sim::{Batch, Costs, Effort, Interval, Length, Load, SimError, System, Tally, estimate, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 10_000, rpcs: 60_000 };

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

fn mean_ns(tally: &Tally) -> f64 {
    tally.latency.mean() / 1e3
}

#[test]
fn stealing_that_costs_nothing_keeps_no_core_idle() {
    // Which RPC is served next does not change how many wait, as long as the choice does not look
    // at service times.
    for (cores, load) in [(2, 0.7), (16, 0.9), (40, 0.95)] {
        let offered = f64::from(cores) * load;
        let waiting = queue_depth_mean(u32::from(cores), offered);
        let expected_ns = 1e3 * (1.0 + waiting / offered);
        let work = Load::open("exp:1us".parse().unwrap(), load);
        let effort = Effort::default().rpcs(30_000).replications(8);
        let found = estimate(&System::new(Policy::WorkStealing, cores), &work, &effort, &|| ()).unwrap();
        let mean = Interval::of(&found.mean_ps).scaled(1e-3);
        let half = (mean.hi - mean.value).max(0.01 * expected_ns);
        assert!((mean.value - expected_ns).abs() < 1.5 * half, "{cores} cores at {load}: {mean:?}, not {expected_ns}");
    }
}

#[test]
fn a_thief_shortens_the_tail_that_rss_has_and_never_beats_one_queue() {
    for (service, load) in [("exp:1us", 0.8), ("bimodal:500ns@0.9,5500ns@0.1", 0.7)] {
        let p99 = |policy| tally(&System::new(policy, 16), service, load).latency.quantile(0.99);
        let (stealing, rss, single) = (p99(Policy::WorkStealing), p99(Policy::Rss), p99(Policy::SingleQueue));
        assert!(stealing < 0.6 * rss, "{service}: {stealing} against {rss}");
        assert!(stealing > 0.99 * single, "{service}: {stealing} against {single}");
    }
}

#[test]
fn what_stealing_costs_is_counted_and_makes_rpcs_late() {
    let costs = |steal, interrupt, discover| Costs {
        steal: Span::from_ns(steal),
        interrupt: Span::from_ns(interrupt),
        discover: Span::from_ns(discover),
        ..Costs::ZERO
    };
    let at = |costs| tally(&System::new(Policy::WorkStealing, 16).costs(costs), "exp:1us", 0.6);
    let free = at(Costs::ZERO);
    assert_eq!(free.overheads.total_ps(), 0);
    for (dear, is_of_cores) in [(costs(300, 0, 0), true), (costs(0, 300, 0), true), (costs(0, 0, 300), false)] {
        let dear = at(dear);
        assert!(mean_ns(&dear) > mean_ns(&free) + 10.0, "{} against {}", mean_ns(&dear), mean_ns(&free));
        assert_eq!(dear.overheads.stealing_ps > 0, is_of_cores);
        assert_eq!(dear.busy_ps, free.busy_ps, "the same RPCs are served");
    }
}

#[test]
fn batches_of_one_are_rss_to_the_last_digit() {
    for (policy, load) in [(Policy::Rss, 0.5), (Policy::Random, 0.9)] {
        let plain = tally(&System::new(policy, 16), "exp:1us", load);
        let one = Batch { max: 1, cost: Span::ZERO };
        let batched = tally(&System::new(policy, 16).batch(one), "exp:1us", load);
        let figures = |tally: &Tally| (tally.latency.mean(), tally.latency.quantile(0.99), tally.busy_ps, tally.window);
        assert_eq!(figures(&plain), figures(&batched));
    }
}

#[test]
fn batches_share_a_cost_and_keep_replies_back() {
    let at = |max, cost, load| {
        let batch = Batch { max, cost: Span::from_ns(cost) };
        tally(&System::new(Policy::Rss, 16).batch(batch), "exp:1us", load)
    };
    let (ones, many) = (at(1, 400, 0.6), at(64, 400, 0.6));
    assert!(many.overheads.dispatch_ps < ones.overheads.dispatch_ps, "RPCs of a batch share its cost");
    assert!(mean_ns(&many) < mean_ns(&ones));
    let (alone, held_back) = (at(1, 0, 0.8), at(64, 0, 0.8));
    assert!(mean_ns(&held_back) > 1.2 * mean_ns(&alone), "a reply leaves with the last of its batch");
}

#[test]
fn every_rpc_ends_once_on_several_servers_with_a_bound_and_clients_that_try_again() {
    let batch = Batch { max: 8, cost: Span::from_ns(50) };
    let reaction = nebula_requester::RetryPolicy::AnotherServer { servers: 3, attempts: 3 };
    let systems = [System::new(Policy::WorkStealing, 4), System::new(Policy::Rss, 4).batch(batch)];
    for system in systems.map(|system| system.servers(3).queue_bound(8).reaction(reaction)) {
        let tally = tally(&system, "exp:1us", 1.5);
        assert_eq!(tally.ended(), LENGTH.rpcs);
        assert!(tally.given_up > 0 && tally.nacks > tally.given_up, "{tally:?}");
        assert_eq!(tally.latency.count(), tally.served);
        let utilization = tally.busy_ps as f64 / (tally.window.as_ps() as f64 * 12.0);
        assert!((0.75..=1.02).contains(&utilization), "{utilization}");
        assert!(tally.queue_depth.quantile(1.0) <= 8.0, "an RPC that finds eight waiting is refused");
    }
}

#[test]
fn a_cost_that_the_policy_has_not_is_refused() {
    let steal = Costs { steal: Span::from_ns(1), ..Costs::ZERO };
    let dispatch = Costs { dispatch: Span::from_ns(1), ..Costs::ZERO };
    let batch = |max| Batch { max, cost: Span::ZERO };
    let wrong = [
        (System::new(Policy::Rss, 4).costs(steal), "stealing"),
        (System::new(Policy::WorkStealing, 4).costs(dispatch), "dispatch"),
        (System::new(Policy::Jbsq(2), 4).batch(batch(2)), "batching"),
        (System::new(Policy::Rss, 4).batch(batch(0)), "1 to 64"),
        (System::new(Policy::Rss, 4).batch(batch(65)), "1 to 64"),
        (System::new(Policy::Rss, 4).dedicated(4), "none to serve"),
    ];
    for (system, says) in wrong {
        let error: SimError = system.validate().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn cores_that_only_schedule_serve_nothing() {
    let all = tally(&System::new(Policy::SingleQueue, 15), "exp:1us", 0.8 * 16.0 / 15.0);
    let one_less = tally(&System::new(Policy::SingleQueue, 16).dedicated(1), "exp:1us", 0.8);
    assert_eq!(one_less.busy_ps, all.busy_ps);
    assert!((mean_ns(&one_less) / mean_ns(&all) - 1.0).abs() < 1e-9);
}

#[test]
fn one_dispatcher_decides_no_faster_than_it_can() {
    let costs = Costs { decision: Span::from_ns(200), ..Costs::ZERO };
    let system = System::new(Policy::SingleQueue, 64).costs(costs).queue_bound(100);
    let served = tally(&system, "exp:1us", 0.9).served_rps();
    assert!((served / 5e6 - 1.0).abs() < 0.03, "{served} is 5 million a second");
}

#[test]
fn each_server_has_a_dispatcher_of_its_own() {
    let costs = Costs { decision: Span::from_ns(200), dispatch: Span::from_ns(50), ..Costs::ZERO };
    let one = System::new(Policy::SingleQueue, 16).costs(costs);
    let four = one.clone().servers(4);
    let (one, four) = (tally(&one, "exp:1us", 0.25), tally(&four, "exp:1us", 0.25));
    // 4 million RPCs per second each, of 5 million that a dispatcher can decide about: M/D/1 waits
    // 0.4 µs at it.
    for found in [one, four] {
        let added = mean_ns(&found) - 1000.0;
        assert!((added / (200.0 + 50.0 + 400.0) - 1.0).abs() < 0.1, "{added} ns");
    }
}
