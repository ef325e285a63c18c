//! Calls in parts and tiers: order statistics, deadlines and NACKs that reach the client.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_requester::{RetryPolicy, Standing};
use nebula_sim::{Balance, Calls, Length, Load, Router, System, Tally, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 4_000, rpcs: 40_000 };

fn in_parts(fan_out: u16) -> Calls {
    Calls { fan_out, ..Calls::ONE }
}

/// Servers at which nothing ever waits.
fn ample(servers: u16, calls: Calls) -> System {
    System::new(Policy::SingleQueue, 64).servers(servers).calls(calls)
}

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(5)).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} and not {expected}");
}

/// The mean of the longest of n exponentials.
fn harmonic(n: u16) -> f64 {
    (1..=n).map(|k| 1.0 / f64::from(k)).sum()
}

#[test]
fn the_last_of_n_parts_is_a_maximum_of_exponentials() {
    for n in [1_u16, 4, 16, 64] {
        let found = tally(&ample(64, in_parts(n)), "exp:1us", 0.1);
        assert_near(found.latency.mean() / 1e6, harmonic(n), 0.01);
        // F(t)^n = 0.99.
        let p99 = -(1.0 - 0.99_f64.powf(1.0 / f64::from(n))).ln();
        assert_near(found.latency.quantile(0.99) / 1e6, p99, 0.02);
        assert_eq!(found.by_tier[0].calls, LENGTH.rpcs * u64::from(n));
        assert_near(found.by_tier[0].latency.quantile(0.99) / 1e6, 100_f64.ln(), 0.02);
    }
}

#[test]
fn tiers_follow_one_another_and_each_adds_its_way() {
    let way = Router::at_arrival(Balance::Random, Span::from_us(2));
    let leaf = ample(20, in_parts(10)).router(way);
    let front = System::new(Policy::SingleQueue, 64).behind("leaf", leaf.clone(), "exp:3us".parse().unwrap());
    let found = tally(&front, "exp:1us", 0.2);
    assert_near(found.latency.mean() / 1e6, 1.0 + 4.0 + 3.0 * harmonic(10), 0.01);
    // Cores wait for nobody: 0.2 of the busiest tier.
    let busy = |tier: usize, cores: f64| found.by_tier[tier].busy_ps as f64 / found.window.as_ps() as f64 / cores;
    let (at_front, at_leaf) = (busy(0, 64.0), busy(1, 1280.0));
    assert_near(at_front.max(at_leaf), 0.2, 0.02);
    assert_near(at_front / at_leaf, (1.0 / 64.0) / (30.0 / 1280.0), 0.02);
    assert!(found.latency.quantile(0.000_1) > 4e6);
    let further = front.behind("disk", leaf.calls(in_parts(1)), "fixed:5us".parse().unwrap());
    let found = tally(&further, "exp:1us", 0.1);
    let mean = found.latency.mean() / 1e6;
    assert!(mean > 1.0 + 8.0 + 5.0 + 3.0 * harmonic(10) - 0.3, "each leaf asks a disk: {mean}");
}

#[test]
fn a_deadline_is_kept_by_those_whose_last_part_is_in_time() {
    for (n, deadline_us) in [(1_u16, 2_u64), (10, 5)] {
        let calls = Calls { deadline: Some(Span::from_us(deadline_us)), ..in_parts(n) };
        let found = tally(&ample(16, calls), "exp:1us", 0.1);
        let in_time = (1.0 - (-(deadline_us as f64)).exp()).powi(n.into());
        assert_near(found.accepted(), in_time, 0.01);
        assert!(found.latency.max() as f64 <= deadline_us as f64 * 1.001e6, "nobody waits for longer");
    }
}

#[test]
fn what_is_late_takes_no_core_time_at_any_tier() {
    let leaf = System::new(Policy::SingleQueue, 1).servers(4).calls(in_parts(2));
    let front = |deadline| {
        let calls = Calls { deadline, ..Calls::ONE };
        let front = System::new(Policy::SingleQueue, 64).calls(calls);
        front.behind("leaf", leaf.clone(), "exp:1us".parse().unwrap())
    };
    let forever = tally(&front(None), "fixed:100ns", 0.95);
    let short = tally(&front(Some(Span::from_us(4))), "fixed:100ns", 0.95);
    assert_eq!((forever.given_up, short.ended()), (0, LENGTH.rpcs));
    let tier = &short.by_tier[1];
    let skipped = tier.late + tier.cancelled;
    assert!(short.given_up > LENGTH.rpcs / 10 && skipped > LENGTH.rpcs / 10, "{tier:?}");
    assert!(tier.busy_ps < forever.by_tier[1].busy_ps * 95 / 100);
    // What is left for the others comes sooner.
    assert!(short.latency.mean() < 0.5 * forever.latency.mean());
}

#[test]
fn a_nack_behind_ends_the_call_before_as_often_as_erlang_says() {
    // The leaf is Erlang's loss system of 8 cores: B(8, 6.4).
    let (cores, load) = (8_u16, 0.8);
    let offered = f64::from(cores) * load;
    let blocked = (1..=cores).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let leaf = System::new(Policy::SingleQueue, cores).queue_bound(0);
    let front = System::new(Policy::SingleQueue, 64).behind("leaf", leaf.clone(), "exp:1us".parse().unwrap());
    let found = tally(&front, "fixed:1us", load);
    assert_near(1.0 - found.accepted(), blocked, 0.03);
    assert_eq!((found.nacks, found.by_tier[0].nacks), (found.given_up, 0));
    assert_near(found.by_tier[0].wasted(), blocked, 0.03);
    // Two parts: one that is refused is enough, and the other one is for nothing.
    let two = leaf.clone().servers(2).calls(in_parts(2));
    let both = System::new(Policy::SingleQueue, 64).behind("leaf", two, "exp:1us".parse().unwrap());
    let found = tally(&both, "fixed:1us", load);
    assert!(1.0 - found.accepted() > 1.3 * blocked && found.by_tier[1].wasted() > 0.05);
    // Another server takes most of what one refuses.
    let retry = RetryPolicy::AnotherServer { servers: 2, attempts: 2 };
    let again = System::new(Policy::SingleQueue, 64).behind(
        "leaf",
        leaf.servers(2).reaction(retry),
        "exp:1us".parse().unwrap(),
    );
    assert!(1.0 - tally(&again, "fixed:1us", load).accepted() < 0.7 * blocked);
}

#[test]
fn a_second_copy_spares_a_caller_its_slowest_part() {
    let leaves = |calls| ample(40, calls);
    let alone = tally(&leaves(in_parts(20)), "exp:1us", 0.1);
    let calls = Calls { hedge: Some("p95".parse().unwrap()), ..in_parts(20) };
    let copied = tally(&leaves(calls), "exp:1us", 0.1);
    assert!(copied.latency.quantile(0.99) < 0.75 * alone.latency.quantile(0.99));
    assert_near(copied.by_tier[0].copied(), 0.05, 0.15);
}

#[test]
fn the_same_arguments_give_the_same_tally() {
    let calls = Calls { hedge: Some("tied:p90".parse().unwrap()), deadline: Some(Span::from_us(20)), ..in_parts(3) };
    let leaf = System::new(Policy::Jbsq(2), 4).servers(8).queue_bound(6).calls(calls);
    let front = System::new(Policy::SingleQueue, 16).behind("leaf", leaf, "exp:2us".parse().unwrap());
    assert!(tally(&front, "exp:1us", 0.9) == tally(&front, "exp:1us", 0.9));
}

/// Two servers of one core, which callers choose at random by what is known of them.
fn two(standings: [Standing; 2]) -> System {
    let system = System::new(Policy::SingleQueue, 1).servers(2).calls(Calls::ONE);
    System { standings: standings.into(), ..system }
}

#[test]
fn servers_get_what_they_weigh_and_queue_as_two_of_erlangs() {
    // One gets a quarter of a core's work and one three quarters: 1 / (1 - 1/4) and 1 / (1 - 3/4).
    let found = tally(&two([1, 3].map(|weight| Standing::default().weight(weight))), "exp:1us", 0.5);
    assert_near(found.latency.mean() / 1e6, 0.25 / 0.75 + 0.75 / 0.25, 0.05);
    let alike = tally(&two([Standing::default(); 2]), "exp:1us", 0.5);
    assert_near(alike.latency.mean() / 1e6, 2.0, 0.04);
}

#[test]
fn a_server_of_another_zone_gets_nothing_while_one_near_refuses_nothing() {
    let found = tally(&two([false, true].map(|is_far| Standing::default().far(is_far))), "exp:1us", 0.3);
    assert_near(found.latency.mean() / 1e6, 1.0 / (1.0 - 0.6), 0.05);
}
