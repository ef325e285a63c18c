//! Second copies of calls: what they cost and what they save, against exact results.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_requester::RetryPolicy;
use nebula_sim::{Balance, Calls, Length, Load, Router, System, Tally, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 20_000, rpcs: 200_000 };

fn hedged(hedge: &str) -> Calls {
    Calls { hedge: Some(hedge.parse().unwrap()), ..Calls::ONE }
}

fn tally(system: &System, load: f64) -> Tally {
    run(system, &Load::open("exp:1us".parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

/// Servers at which nothing ever waits.
fn idle(hedge: &str) -> Tally {
    tally(&System::new(Policy::SingleQueue, 64).servers(8).calls(hedged(hedge)), 0.05)
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} and not {expected}");
}

fn p99_us(tally: &Tally) -> f64 {
    tally.latency.quantile(0.99) / 1e6
}

#[test]
fn calls_of_one_copy_are_a_plain_system() {
    for (policy, bound) in [(Policy::SingleQueue, None), (Policy::Jbsq(2), None), (Policy::SingleQueue, Some(3))] {
        let system = System { queue_bound: bound, ..System::new(policy, 4) };
        let (plain, called) = (tally(&system, 0.9), tally(&system.clone().calls(Calls::ONE), 0.9));
        assert_eq!((plain.served, plain.nacks, plain.given_up), (called.served, called.nacks, called.given_up));
        assert_eq!((plain.latency, plain.queue_depth), (called.latency, called.queue_depth));
        assert_eq!((called.by_tier[0].copies, called.by_tier[0].wasted()), (0, 0.0));
    }
}

#[test]
fn the_first_of_two_copies_that_wait_for_nothing_is_a_minimum_of_exponentials() {
    let found = idle("0ns");
    assert_near(found.latency.mean() / 1e6, 0.5, 0.01);
    assert_near(p99_us(&found), 100_f64.ln() / 2.0, 0.02);
    let tier = &found.by_tier[0];
    assert_eq!((tier.calls, tier.copies), (LENGTH.rpcs, LENGTH.rpcs));
    // Both are served to the end: the first answer takes half a microsecond of the two that they
    // cost.
    assert_near(tier.wasted(), 0.75, 0.01);
    assert_near(tier.busy_ps as f64 / LENGTH.rpcs as f64, 2e6, 0.01);
}

#[test]
fn a_later_copy_costs_those_that_are_slower_and_halves_what_is_left_of_them() {
    // P(T > t) = exp(-d) exp(-2 (t - d)) beyond the delay d.
    let found = idle("2us");
    assert_near(found.by_tier[0].copied(), (-2_f64).exp(), 0.02);
    assert_near(p99_us(&found), 2.0 + (100_f64.ln() - 2.0) / 2.0, 0.02);
    let found = idle("p95");
    // The machine follows the quantile in steps of a sixteenth.
    assert_near(found.by_tier[0].copied(), 0.05, 0.15);
    assert_near(p99_us(&found), 20_f64.ln() + 5_f64.ln() / 2.0, 0.03);
    assert!(idle("p95/1%").by_tier[0].copied() < 0.0101, "a budget is kept");
}

#[test]
fn copies_of_one_service_time_save_nothing_where_nothing_waits() {
    let mut calls = hedged("0ns");
    calls.hedge.as_mut().unwrap().has_same_service = true;
    let found = tally(&System::new(Policy::SingleQueue, 64).servers(8).calls(calls), 0.05);
    assert_near(found.latency.mean() / 1e6, 1.0, 0.01);
    assert_near(p99_us(&found), 100_f64.ln(), 0.02);
}

#[test]
fn tied_copies_at_both_servers_are_one_queue() {
    // Whichever server is free first begins the RPC, and the other copy is gone: M/M/2.
    for load in [0.6_f64, 0.8] {
        let found = tally(&System::new(Policy::SingleQueue, 1).servers(2).calls(hedged("tied:0ns")), load);
        assert_near(found.latency.mean() / 1e6, 1.0 / (1.0 - load * load), 0.03);
        let (waits, left) = (2.0 * load * load / (1.0 + load), 2.0 * (1.0 - load));
        let beyond = |t: f64| (-t).exp() + waits * ((-left * t).exp() - (-t).exp()) / (1.0 - left);
        assert_near(beyond(p99_us(&found)), 0.01, 0.15);
        let tier = &found.by_tier[0];
        assert_eq!(tier.copies, LENGTH.rpcs);
        assert!(tier.wasted() < 1e-9, "a copy that is gone costs nothing: {}", tier.wasted());
    }
}

#[test]
fn tied_copies_that_are_far_apart_are_served_twice_now_and_then() {
    let router = |way| Router::at_arrival(Balance::Random, Span::from_ns(way));
    let servers = |way| System::new(Policy::SingleQueue, 1).servers(8).router(router(way)).calls(hedged("tied:0ns"));
    let found = tally(&servers(300), 0.4);
    assert!(found.by_tier[0].wasted() > 0.05, "{}", found.by_tier[0].wasted());
    assert!(found.latency.quantile(0.001) >= 600e3, "the way there and back");
    // Each server is an M/M/1 without copies.
    let alone = tally(&System::new(Policy::SingleQueue, 1).servers(8).router(router(300)), 0.4);
    assert!(p99_us(&found) < 0.85 * p99_us(&alone), "{} and {}", p99_us(&found), p99_us(&alone));
}

#[test]
fn what_copies_save_depends_on_whose_the_service_time_is() {
    let servers = System::new(Policy::SingleQueue, 1).servers(8);
    let p99 = |calls: Calls| p99_us(&tally(&servers.clone().calls(calls), 0.45));
    let twice = |has_same_service| {
        let mut calls = hedged("0ns");
        calls.hedge.as_mut().unwrap().has_same_service = has_same_service;
        p99(calls)
    };
    let (alone, of_server, of_request) = (p99(Calls::ONE), twice(false), twice(true));
    assert!(
        of_server < 0.7 * alone && of_request > 1.3 * of_server && of_request < alone,
        "{alone}, {of_server}, {of_request}"
    );
    assert!(p99(hedged("p95")) < 0.85 * alone);
}

#[test]
fn a_nack_is_no_end_while_another_copy_is_under_way() {
    let bounded = |reaction| {
        let calls = hedged("0ns");
        let system = System::new(Policy::SingleQueue, 1).servers(4).queue_bound(2).reaction(reaction).calls(calls);
        tally(&system, 0.9)
    };
    let found = bounded(RetryPolicy::GiveUp);
    assert_eq!(found.ended(), LENGTH.rpcs);
    assert!(found.nacks > 2 * found.given_up, "most have another copy: {} of {}", found.given_up, found.nacks);
    let another = bounded(RetryPolicy::AnotherServer { servers: 4, attempts: 4 });
    assert!(another.given_up < found.given_up * 3 / 4, "{} and {}", another.given_up, found.given_up);
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let one = System::new(Policy::SingleQueue, 4).calls(hedged("p95"));
    let behind = one.clone().servers(2).router(Router::jbsq(8, Span::ZERO));
    let stolen = System::new(Policy::WorkStealing, 4).servers(2).calls(Calls::ONE);
    for (system, word) in [(one, "another server"), (behind, "holds RPCs back"), (stolen, "decides once")] {
        let error = system.validate().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
