//! Servers behind a router: one queue for all of them, and what it becomes at its ends.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_sim::{Balance, Length, Load, Router, System, Tally, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 5_000, rpcs: 50_000 };

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

fn router(bound: u16, way: Span) -> Router {
    Router::jbsq(bound, way)
}

fn figures(tally: &Tally) -> (f64, f64, u128, f64) {
    (tally.latency.mean(), tally.latency.quantile(0.99), tally.busy_ps, tally.queued.mean())
}

#[test]
fn servers_of_one_core_and_a_router_that_is_near_are_one_server_with_jbsq() {
    for (bound, load) in [(1_u16, 0.9), (2, 0.8), (3, 0.95)] {
        let behind = System::new(Policy::SingleQueue, 1).servers(16).router(router(bound, Span::ZERO));
        let one = System::new(Policy::Jbsq(bound.into()), 16);
        let (behind, one) = (tally(&behind, "exp:1us", load), tally(&one, "exp:1us", load));
        assert_eq!(behind.latency.mean(), one.latency.mean(), "jbsq:{bound}");
        assert_eq!(behind.latency.quantile(0.999), one.latency.quantile(0.999));
    }
}

#[test]
fn one_server_behind_a_router_is_that_server() {
    let behind = System::new(Policy::SingleQueue, 16).router(router(64, Span::ZERO));
    let one = System::new(Policy::SingleQueue, 16);
    let (behind, one) = (tally(&behind, "exp:1us", 0.9), tally(&one, "exp:1us", 0.9));
    assert_eq!(figures(&behind), figures(&one));
}

#[test]
fn a_router_spares_the_tail_that_chance_makes_and_its_way_adds_to_every_rpc() {
    let servers = System::new(Policy::SingleQueue, 4).servers(4);
    let by_chance = tally(&servers, "exp:1us", 0.9);
    let near = tally(&servers.clone().router(router(6, Span::ZERO)), "exp:1us", 0.9);
    let far = tally(&servers.router(router(6, Span::from_ns(500))), "exp:1us", 0.9);
    assert!(near.latency.quantile(0.99) < 0.75 * by_chance.latency.quantile(0.99));
    let added = (far.latency.mean() - near.latency.mean()) / 1e3;
    assert!(added > 495.0, "{added} ns");
    assert!(far.queued.mean() > 500e3, "the way is before service");
}

#[test]
fn a_router_refuses_beyond_its_bound_and_loses_nothing() {
    let system = System::new(Policy::Jbsq(2), 4).servers(4).router(router(8, Span::from_ns(200))).queue_bound(16);
    let tally = tally(&system, "exp:1us", 1.3);
    assert_eq!(tally.ended(), LENGTH.rpcs);
    assert!(tally.given_up > LENGTH.rpcs / 10 && tally.served == tally.latency.count());
}

#[test]
fn a_random_server_is_a_queue_of_its_own_at_its_distance() {
    let way = Span::from_ns(700);
    for (balance, mean_us) in [(Balance::Random, 1.0 / (1.0 - 0.6) + 0.7), (Balance::TwoChoices, 0.0)] {
        let servers = System::new(Policy::SingleQueue, 1).servers(8).router(Router::at_arrival(balance, way));
        let found = tally(&servers, "exp:1us", 0.6).latency.mean() / 1e6;
        match balance {
            Balance::Random => assert!((found / mean_us - 1.0).abs() < 0.03, "{found} for {mean_us}"),
            _ => assert!(found < 1.0 / (1.0 - 0.6), "two choices wait less than one, the way included: {found}"),
        }
    }
}

#[test]
fn two_choices_are_mitzenmachers_and_old_counts_cost() {
    let run = |way_ns: u64, load: f64| {
        let router = Router::at_arrival(Balance::TwoChoices, Span::from_ns(way_ns));
        let servers = System::new(Policy::SingleQueue, 1).servers(200).router(router);
        let long = Length { warmup: 100_000, rpcs: 600_000 };
        let load = Load::open("exp:1us".parse().unwrap(), load);
        nebula_sim::run(&servers, &load, long, Seed(3)).unwrap().latency.mean() / 1e6
    };
    for load in [0.5_f64, 0.9] {
        // Of many servers a share λ^(2^i − 1) has i or more RPCs; Little's law gives the mean.
        let theory: f64 = (1..10).map(|i| load.powi((1 << i) - 1)).sum::<f64>() / load;
        let near = run(0, load);
        assert!((near / theory - 1.0).abs() < 0.02, "theory {theory}, found {near}");
        let far = run(2_000, load) - 2.0;
        assert!(far > 1.1 * near, "counts that are 2 µs old: {far} for {near}");
    }
}

#[test]
fn what_no_router_can_do_is_refused() {
    let another = nebula_requester::RetryPolicy::AnotherServer { servers: 2, attempts: 2 };
    let wrong = [
        System::new(Policy::SingleQueue, 33).servers(2).router(Router::at_arrival(Balance::Random, Span::ZERO)),
        System::new(Policy::SingleQueue, 4)
            .servers(2)
            .router(Router { balance: Balance::Random, ..router(2, Span::ZERO) }),
    ];
    for system in wrong {
        assert!(system.validate().unwrap_err().to_string().contains("chooses at arrival"));
    }
    let system = System::new(Policy::SingleQueue, 4).servers(2).queue_bound(4).reaction(another);
    assert!(system.router(router(8, Span::ZERO)).validate().unwrap_err().to_string().contains("drop or retry"));
    let wrong = [
        System::new(Policy::WorkStealing, 4).router(router(2, Span::ZERO)),
        System::new(Policy::SingleQueue, 4).router(router(0, Span::ZERO)),
        System::new(Policy::SingleQueue, 4).router(router(65, Span::ZERO)),
    ];
    for system in wrong {
        assert!(system.validate().unwrap_err().to_string().contains("router"));
    }
}
