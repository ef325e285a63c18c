//! The queueing level against the formulas of queueing theory: each within the run's own interval,
//! widened where a run starts empty.
//!
//! A wrong policy fails here: every formula is also shown *not* to hold for a policy that it is not
//! about.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests may panic")]

use nebula_nic::{Choose, Header, NodeId, Policy, Rss, Span, erlang_b, erlang_c, queue_depth_mean};
use nebula_sim::{Effort, Estimate, Flows, Interval, Length, Load, System, estimate, run};
use nebula_workload::{Arrivals, Seed};

fn effort() -> Effort {
    Effort::default().rpcs(200_000).replications(10).seed(Seed(17))
}

fn at(policy: Policy, cores: u16, service: &str, load: f64) -> Estimate {
    measure(&System::new(policy, cores), &Load::open(service.parse().unwrap(), load))
}

fn measure(system: &System, load: &Load) -> Estimate {
    estimate(system, load, &effort(), &|| ()).unwrap()
}

/// Whether a figure of theory lies within an interval, or within `tolerance` of its middle.
fn agrees(theory: f64, found: Interval, tolerance: f64) -> bool {
    found.contains(theory) || (found.value / theory - 1.0).abs() < tolerance
}

#[track_caller]
fn assert_agrees(what: &str, theory: f64, found: Interval, tolerance: f64) {
    assert!(agrees(theory, found, tolerance), "{what}: theory {theory}, found {found:?}");
    assert!(found.relative() < 0.1, "{what}: the interval says little: {found:?}");
}

fn mean_us(estimate: &Estimate) -> Interval {
    Interval::of(&estimate.mean_ps).scaled(1e-6)
}

fn depth(estimate: &Estimate) -> Interval {
    Interval::of(&estimate.depth_mean)
}

const QUEUES: [Policy; 3] = [Policy::SingleQueue, Policy::Jbsq(1), Policy::McsLock];

#[test]
fn one_core_with_exponential_service_is_mm1() {
    for load in [0.3, 0.7, 0.9] {
        for policy in QUEUES {
            let found = at(policy, 1, "exp:1us", load);
            assert_agrees("mean latency", 1.0 / (1.0 - load), mean_us(&found), 0.01);
            assert_agrees("mean queue depth", load * load / (1.0 - load), depth(&found), 0.02);
            // The latency of M/M/1 is itself exponential.
            let p99_us = -(0.01_f64.ln()) / (1.0 - load);
            assert_agrees("p99", p99_us, found.p99().scaled(1e-6), 0.02);
        }
    }
}

#[test]
fn many_cores_with_one_queue_are_mmk() {
    for (cores, load) in [(16, 0.7), (16, 0.9), (64, 0.95)] {
        // Long queues forget slowly: an interval needs more than elsewhere.
        let effort = effort().rpcs(600_000).replications(12);
        let (system, work) = (System::new(Policy::SingleQueue, cores), Load::open("exp:1us".parse().unwrap(), load));
        let found = estimate(&system, &work, &effort, &|| ()).unwrap();
        let (k, erlangs) = (u32::from(cores), f64::from(cores) * load);
        let (waits, drain) = (erlang_c(k, erlangs), f64::from(cores) * (1.0 - load));
        assert_agrees("mean latency", 1.0 + waits / drain, mean_us(&found), 0.01);
        assert_agrees("E[Nq]", queue_depth_mean(k, erlangs), depth(&found), 0.05);
        // P(wait > t) = C · e^(-(kμ-λ)t), at once and over time.
        for multiple in [0.0, 0.5, 1.0, 2.0, 4.0] {
            let t_us = multiple / drain;
            let theory = waits * (-multiple).exp();
            let share = found.tally.queued.share_above((t_us * 1e6).round() as u64);
            assert!(
                (share - theory).abs() < 0.03 * waits + 0.002,
                "P(wait > {t_us} us): theory {theory}, found {share}"
            );
        }
    }
}

#[test]
fn a_queue_a_core_is_not_mmk() {
    let found = at(Policy::Random, 16, "exp:1us", 0.9);
    assert!(!agrees(1.0 + erlang_c(16, 14.4) / 1.6, mean_us(&found), 0.05), "random is no single queue");
    // It is 16 times M/M/1.
    assert_agrees("mean latency", 10.0, mean_us(&found), 0.02);
    let rss = at(Policy::Rss, 16, "exp:1us", 0.9);
    assert_agrees("mean latency under RSS of many flows", 10.0, mean_us(&rss), 0.02);
}

#[test]
fn fixed_service_on_one_core_is_md1() {
    for load in [0.5, 0.9] {
        let found = at(Policy::SingleQueue, 1, "fixed:1us", load);
        assert_agrees("mean latency", 1.0 + load / (2.0 * (1.0 - load)), mean_us(&found), 0.01);
    }
    // Paced arrivals of fixed RPCs never wait.
    let load = Load::open("fixed:1us".parse().unwrap(), 0.99).arrivals(Arrivals::Paced);
    let found = measure(&System::new(Policy::SingleQueue, 1), &load);
    assert_eq!((found.tally.queued.max(), found.tally.queue_depth.mean()), (0, 0.0));
}

#[test]
fn the_mean_of_one_core_is_pollaczek_and_khinchines() {
    for service in
        ["uniform:0ns-2us", "bimodal:500ns@0.9,5500ns@0.1", "fixed:500ns+exp:500ns", "lognormal:mean=1us,scv=2"]
    {
        let law: nebula_workload::ServiceTime = service.parse().unwrap();
        let (mean_us_service, scv) = (law.mean_ps() / 1e6, law.scv().unwrap());
        for policy in [Policy::SingleQueue, Policy::Jbsq(2), Policy::Jbsq(64), Policy::Rss] {
            // Of one core every one of them is a FIFO.
            let found = at(policy, 1, service, 0.7);
            let theory = mean_us_service * (1.0 + 0.7 * (1.0 + scv) / (2.0 * 0.3));
            assert_agrees(&format!("{service} under {policy}"), theory, mean_us(&found), 0.02);
        }
    }
}

#[test]
fn a_bound_on_the_queue_loses_what_mmkk_says() {
    for (cores, bound, load) in [(1_u16, 4_u32, 0.9), (4, 4, 1.2), (16, 8, 2.0)] {
        let system = System::new(Policy::SingleQueue, cores).queue_bound(bound);
        let found = measure(&system, &Load::open("exp:1us".parse().unwrap(), load));
        // M/M/k/K, K = cores + bound: Erlang B on, one waiting place after the other.
        let (k, erlangs) = (u32::from(cores), f64::from(cores) * load);
        let lost = (0..bound).fold(erlang_b(k, erlangs), |lost, _| load * lost / (1.0 + load * lost));
        let found_lost = 1.0 - found.tally.accepted();
        assert!(
            (found_lost / lost - 1.0).abs() < 0.03,
            "{cores} cores, bound {bound}: theory {lost}, found {found_lost}"
        );
        assert!(found.tally.queue_depth.quantile(1.0) <= f64::from(bound));
        assert_eq!(found.tally.nacks, found.tally.given_up, "who is dropped is NACKed once");
    }
}

#[test]
fn without_a_queue_the_loss_is_erlangs_and_the_cores_carry_the_rest() {
    // Erlang's formula holds for any service time.
    for (policy, cores, load, service) in [
        (Policy::SingleQueue, 4_u16, 0.8, "exp:1us"),
        (Policy::Jbsq(1), 16, 1.5, "exp:1us"),
        (Policy::SingleQueue, 16, 0.9, "bimodal:500ns@0.9,5500ns@0.1"),
        (Policy::McsLock, 8, 0.7, "fixed:1us"),
    ] {
        let system = System::new(policy, cores).queue_bound(0);
        let found = measure(&system, &Load::open(service.parse().unwrap(), load));
        let lost = erlang_b(cores.into(), f64::from(cores) * load);
        assert_loss(&format!("{policy}, {service}"), lost, &found);
        let busy = found.tally.core_time(&system).busy();
        assert!((busy / (load * (1.0 - lost)) - 1.0).abs() < 0.01, "{policy}, {service}: busy {busy}");
        assert_eq!((found.tally.queue_depth.quantile(1.0), found.tally.queued.max()), (0.0, 0), "nothing waits");
    }
    // A core that holds two RPCs is M/M/1/2, whether it is chosen at random or alone.
    for (policy, cores) in [(Policy::Random, 8), (Policy::Jbsq(2), 1)] {
        let found = measure(&System::new(policy, cores).queue_bound(0), &Load::open("exp:1us".parse().unwrap(), 0.8));
        assert_loss(&policy.to_string(), 0.64 / (1.0 + 0.8 + 0.64), &found);
    }
}

#[track_caller]
fn assert_loss(what: &str, theory: f64, found: &Estimate) {
    let lost = 1.0 - found.tally.accepted();
    assert!((lost - theory).abs() < 0.02 * theory + 2e-5, "{what}: theory {theory}, found {lost}");
}

/// The mean number of busy cores under M/M/k//N: `clients` that think for `think` mean services,
/// and then wait.
fn busy_cores(cores: u32, clients: u32, think: f64) -> f64 {
    // Weights relative to the largest so far, so that none overflows.
    let (mut weight, mut sum, mut busy) = (1.0, 1.0, 0.0);
    for n in 1..=clients {
        weight *= f64::from(clients - n + 1) / think / f64::from(n.min(cores));
        sum += weight;
        busy += weight * f64::from(n.min(cores));
        if weight > 1e200 {
            (weight, sum, busy) = (weight / 1e200, sum / 1e200, busy / 1e200);
        }
    }
    busy / sum
}

#[test]
fn a_closed_loop_is_the_machine_repair_model() {
    // A few clients of one core, and thousands of connections of many; and what few clients with
    // many RPCs each have outstanding.
    for (cores, clients, outstanding, think_us) in
        [(1_u16, 8_u32, 1, 9.0), (16, 5_000, 1, 320.0), (16, 5_000, 1, 300.0), (4, 10, 6, 12.0)]
    {
        let think = Some(format!("exp:{think_us}us").parse().unwrap());
        let load = Load::closed("exp:1us".parse().unwrap(), clients, think).outstanding(outstanding);
        let found = measure(&System::new(Policy::SingleQueue, cores), &load);
        let all = clients * outstanding;
        let busy = busy_cores(cores.into(), all, think_us);
        let served_mrps = found.tally.served_rps() / 1e6;
        let what = format!("{clients} clients of {cores} cores");
        assert!((served_mrps / busy - 1.0).abs() < 0.01, "{what}: theory {busy} MRPS, found {served_mrps}");
        // Little's law over the whole loop.
        assert_agrees(&what, f64::from(all) / busy - think_us, mean_us(&found), 0.03);
    }
}

#[test]
fn with_a_flow_each_connections_of_rss_are_a_machine_repair_model_a_core() {
    let (cores, clients, think_us) = (8_u16, 60_u32, 12.0);
    let load = Load::closed("exp:1us".parse().unwrap(), clients, Some("exp:12us".parse().unwrap()));
    let load = load.flows(Flows::Clients);
    let served = |policy, seed: Seed| {
        let length = Length { warmup: 20_000, rpcs: 300_000 };
        run(&System::new(policy, cores), &load, length, seed).unwrap()
    };
    for seed in [Seed(1), Seed(2), Seed(3)] {
        let mut rss = Rss::new(cores, seed.replica(0).0);
        let mut connections = [0_u32; 8];
        (0..clients).for_each(|client| {
            connections[rss.choose(&Header { snid: NodeId(client), ..Header::default() }).index()] += 1;
        });
        let busy = connections.map(|clients| busy_cores(1, clients, think_us));
        let all: f64 = busy.iter().sum();
        let found = served(Policy::Rss, seed);
        assert!((found.served_rps() / 1e6 / all - 1.0).abs() < 0.01, "{all} for {}", found.served_rps());
        let hottest = busy.into_iter().fold(0.0, f64::max);
        assert!((found.hottest() / hottest - 1.0).abs() < 0.02, "{hottest} for {}", found.hottest());
        let by_chance = served(Policy::Random, seed).hottest();
        assert!(by_chance < 0.95 * hottest, "a random core for each RPC has no hot core: {by_chance}");
    }
}

#[test]
fn littles_law_holds_of_every_policy() {
    for policy in ["single-queue", "jbsq:2", "jbsq:4", "rss", "random", "round-robin", "key-hash"] {
        let found = at(policy.parse().unwrap(), 16, "exp:1us", 0.8);
        let tally = &found.tally;
        let in_system = tally.offered_rps() * tally.latency.mean() / 1e12;
        let (queued, served) = (tally.queued.mean() / 1e12, tally.busy_ps as f64 / tally.served as f64 / 1e12);
        let parts = tally.offered_rps() * (queued + served);
        assert!((in_system / parts - 1.0).abs() < 1e-6, "{policy}: latency is queueing and service");
        assert!((tally.offered_rps() * served / 12.8 - 1.0).abs() < 0.01, "{policy}: 16 cores are busy for 0.8");
    }
}

#[test]
fn a_lock_serializes_what_it_guards() {
    // One RPC every 125 ns at most, however many cores there are.
    let costs = nebula_sim::Costs { lock_handoff: Span::from_ns(125), ..Default::default() };
    let system = System::new(Policy::McsLock, 16).costs(costs).queue_bound(50);
    let found = measure(&system, &Load::open("exp:600ns".parse().unwrap(), 0.95));
    assert!((found.tally.served_rps() / 8e6 - 1.0).abs() < 0.01, "{}", found.tally.served_rps());
    // One core alone pays the hand-off with every RPC: M/G/1 of the sum.
    let system = System::new(Policy::McsLock, 1).costs(costs);
    let found = measure(&system, &Load::open("exp:500ns".parse().unwrap(), 0.6));
    let (mean, load, scv) = (0.625, 0.75, 0.64);
    assert_agrees("mean latency", mean * (1.0 + load * (1.0 + scv) / (2.0 * (1.0 - load))), mean_us(&found), 0.02);
}
