//! What must hold of any run, and how figures move when a parameter does.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_requester::RetryPolicy;
use nebula_sim::{Bracket, Costs, Effort, Length, Load, SimError, System, Tally, estimate, load_at_slo, run, run_with};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 20_000, rpcs: 200_000 };

fn tally(policy: &str, cores: u16, service: &str, load: f64) -> Tally {
    let system = System::new(policy.parse().unwrap(), cores);
    run(&system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

fn p99(tally: &Tally) -> f64 {
    tally.latency.quantile(0.99)
}

fn figures(tally: &Tally) -> (u64, u64, u64, f64, f64, f64, u128) {
    let Tally { served, given_up, nacks, .. } = *tally;
    let (latency, queued) = (tally.latency.mean(), tally.queued.mean());
    (served, given_up, nacks, latency, queued, p99(tally) + tally.queue_depth.mean(), tally.busy_ps)
}

#[test]
fn jbsq_of_one_is_the_single_queue_rpc_by_rpc() {
    for (cores, service, load) in
        [(1, "exp:1us", 0.8), (16, "bimodal:500ns@0.9,5500ns@0.1", 0.9), (64, "fixed:1us", 0.99)]
    {
        let (one, single) = (tally("jbsq:1", cores, service, load), tally("single-queue", cores, service, load));
        assert_eq!(figures(&one), figures(&single), "{cores} cores, {service}");
    }
}

#[test]
fn a_policy_of_the_callers_own_is_run_as_a_built_in_one() {
    let system = System::new(Policy::SingleQueue, 16);
    let load = Load::open("exp:1us".parse().unwrap(), 0.9);
    let own = run_with(&system, &load, LENGTH, Seed(3), |cores, _| nebula_nic::dispatch::Jbsq::new(cores, 2)).unwrap();
    assert_eq!(figures(&own), figures(&tally("jbsq:2", 16, "exp:1us", 0.9)));
}

#[test]
fn every_policy_meets_the_same_work() {
    let busy: Vec<u128> = ["single-queue", "jbsq:2", "rss", "random", "round-robin", "key-hash"]
        .iter()
        .map(|policy| tally(policy, 16, "exp:1us", 0.8).busy_ps)
        .collect();
    assert!(busy.windows(2).all(|pair| pair[0] == pair[1]), "service times come from a separate stream: {busy:?}");
}

#[test]
fn one_queue_beats_a_queue_a_core_and_two_at_a_core_cost_a_little() {
    for service in ["exp:1us", "bimodal:500ns@0.9,5500ns@0.1", "fixed:1us"] {
        let p99_of = |policy| p99(&tally(policy, 16, service, 0.8));
        let (single, jbsq2, jbsq4, rss) = (p99_of("single-queue"), p99_of("jbsq:2"), p99_of("jbsq:4"), p99_of("rss"));
        assert!(single <= jbsq2 && jbsq2 <= 1.03 * jbsq4 && jbsq4 < rss, "{service}: {single} {jbsq2} {jbsq4} {rss}");
        assert!(rss > 1.8 * single, "{service}: {rss} {single}");
    }
}

#[test]
fn more_cores_at_the_same_load_shorten_the_tail() {
    for policy in ["single-queue", "jbsq:2"] {
        let tails: Vec<f64> = [1, 2, 4, 16, 64].map(|cores| p99(&tally(policy, cores, "exp:1us", 0.9))).to_vec();
        assert!(tails.windows(2).all(|pair| pair[0] > pair[1]), "{policy}: {tails:?}");
    }
}

#[test]
fn burstier_arrivals_and_more_variable_service_lengthen_it() {
    let of = |arrivals: &str| {
        let load = Load::open("exp:1us".parse().unwrap(), 0.7).arrivals(arrivals.parse().unwrap());
        p99(&run(&System::new(Policy::SingleQueue, 16), &load, LENGTH, Seed(3)).unwrap())
    };
    let [paced, poisson, short, long] = ["paced", "poisson", "on-off:5us,5us", "on-off:50us,50us"].map(of);
    assert!(paced < poisson && poisson < short && short < long, "{paced} {poisson} {short} {long}");
    let tails = ["fixed:1us", "uniform:0ns-2us", "exp:1us", "lognormal:mean=1us,scv=4"]
        .map(|service| p99(&tally("single-queue", 16, service, 0.8)));
    assert!(tails.windows(2).all(|pair| pair[0] < pair[1]), "{tails:?}");
}

#[test]
fn credit_for_two_hides_the_way_between_nic_and_core() {
    let costs =
        Costs { dispatch: Span::from_ns(50), notify: Span::from_ns(50), lock_handoff: Span::ZERO, ..Costs::ZERO };
    let served = |policy: &str| {
        // Past saturation, with a bound: what the cores carry is what is served.
        let system = System::new(policy.parse().unwrap(), 16).costs(costs).queue_bound(64);
        let tally = run(&system, &Load::open("fixed:500ns".parse().unwrap(), 1.2), LENGTH, Seed(3)).unwrap();
        tally.served_rps() / (16.0 / 500e-9)
    };
    let (one, two) = (served("jbsq:1"), served("jbsq:2"));
    assert!((one - 500.0 / 600.0).abs() < 0.005, "a core of jbsq:1 waits 100 ns after each RPC: {one}");
    assert!((two - 1.0).abs() < 0.005, "a core of jbsq:2 never waits: {two}");
}

#[test]
fn another_server_takes_what_one_refuses_and_back_off_tries_again() {
    let load = Load::open("exp:1us".parse().unwrap(), 0.95);
    let of = |reaction| {
        let system = System::new(Policy::Jbsq(2), 4).servers(4).queue_bound(2).reaction(reaction);
        run(&system, &load, LENGTH, Seed(3)).unwrap()
    };
    let dropped = of(RetryPolicy::GiveUp);
    let moved = of(RetryPolicy::AnotherServer { servers: 4, attempts: 4 });
    let later = of(RetryPolicy::BackOff { first: Span::from_us(4), factor: 2, attempts: 8, seed: 1 });
    let accepted = [&dropped, &moved, &later].map(Tally::accepted);
    assert!(accepted[0] < 0.95 && accepted[1] > accepted[0] + 0.05 && accepted[2] > 0.999, "{accepted:?}");
    assert!(moved.nacks > moved.given_up && later.nacks > later.given_up);
    assert!(p99(&later) > p99(&moved), "a back-off is part of the latency that the client sees");
    for tally in [&dropped, &moved, &later] {
        assert_eq!(tally.served + tally.given_up, LENGTH.rpcs, "every RPC ends once");
    }
}

#[test]
fn several_servers_are_several_queues() {
    // 16 cores as 16 × 1 under one policy equal one server with one queue per core.
    let system = System::new(Policy::SingleQueue, 1).servers(16);
    let apart = run(&system, &Load::open("exp:1us".parse().unwrap(), 0.8), LENGTH, Seed(3)).unwrap();
    let random = tally("random", 16, "exp:1us", 0.8);
    assert!((apart.latency.mean() / random.latency.mean() - 1.0).abs() < 0.05);
    assert!(p99(&apart) > 2.0 * p99(&tally("single-queue", 16, "exp:1us", 0.8)));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let system = System::new(Policy::Jbsq(2), 16);
    let load = Load::open("exp:1us".parse().unwrap(), 0.9);
    let effort = Effort::default().rpcs(20_000).replications(12).precision(0.02);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let point = estimate(&system, &load, &effort, &|| ()).unwrap();
            let found = load_at_slo(&system, &load, load.slo(10.0), Bracket::default(), &effort, &|| ()).unwrap();
            (point.p99_ps.clone(), figures(&point.tally), found.loads, point.is_precise)
        })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_precision_that_is_not_reached_is_said() {
    let system = System::new(Policy::SingleQueue, 16);
    let load = Load::open("exp:1us".parse().unwrap(), 0.99);
    let effort = Effort { replications_max: 8, ..Effort::default().rpcs(5_000).replications(4) };
    let point = estimate(&system, &load, &effort.precision(0.0001), &|| ()).unwrap();
    assert_eq!((point.is_precise, point.replications()), (Some(false), 8));
    let point = estimate(&system, &load.at(0.3), &effort.precision(0.2), &|| ()).unwrap();
    assert_eq!((point.is_precise, point.replications()), (Some(true), 4));
    assert!(point.p99().relative() <= 0.2);
}

#[test]
fn a_load_that_settles_slowly_is_warmed_up_for_longer() {
    let effort = Effort::default().rpcs(1_000_000);
    let system = System::new(Policy::SingleQueue, 16);
    let length = |service: &str, load| effort.length(&system, &Load::open(service.parse().unwrap(), load));
    let warmup = |service: &str, load| length(service, load).warmup;
    assert_eq!(warmup("exp:1us", 0.5), 100_000, "a tenth");
    assert_eq!(warmup("exp:1us", 0.99), 118_205, "3 * 0.99 / (1 - sqrt(0.99))^2");
    assert!(
        warmup("bimodal:500ns@0.9,5500ns@0.1", 0.99) > warmup("exp:1us", 0.99) && warmup("fixed:1us", 0.99) < 118_205
    );
    assert_eq!(warmup("exp:1us", 0.9999), 2_000_000, "twice at most");
    let told = Effort { warmup: Some(7), ..effort };
    assert_eq!(told.length(&system, &Load::open("exp:1us".parse().unwrap(), 0.99)).warmup, 7);
    // Unless told, the window follows, too: 3,000 relaxation times over ten replications.
    let long = Effort::default().length(&system, &Load::open("exp:1us".parse().unwrap(), 0.99));
    assert_eq!((long.warmup, long.rpcs, length("exp:1us", 0.99).rpcs), (1_182_052, 11_820_526, 1_000_000));
}

#[test]
fn a_run_that_needs_more_room_than_it_began_with_loses_nothing() {
    // Eight times the load for a while: the queue grows past the first buffer, and the run begins
    // again with a larger one.
    let bursts = Load::open("exp:1us".parse().unwrap(), 0.9).arrivals("on-off:2ms,2ms".parse().unwrap());
    let tally = run(&System::new(Policy::SingleQueue, 16), &bursts, LENGTH, Seed(3)).unwrap();
    assert!(tally.queue_depth.quantile(1.0) > 10_000.0, "{}", tally.queue_depth.quantile(1.0));
    assert_eq!((tally.served, tally.nacks, tally.queue_depth.count()), (LENGTH.rpcs, 0, LENGTH.rpcs));
}

#[test]
fn the_load_at_the_slo_is_the_formulas() {
    // M/M/1: p99 = ln(100) · S / (1 - load), so 10 S is kept up to 0.5395.
    let effort = Effort::default().rpcs(400_000).replications(8);
    let load = Load::open("exp:1us".parse().unwrap(), 0.5);
    let found = |policy: &str, cores| {
        let system = System::new(policy.parse().unwrap(), cores);
        load_at_slo(&system, &load, Span::from_us(10), Bracket::default(), &effort, &|| ()).unwrap()
    };
    let one = found("single-queue", 1);
    assert!((one.load.value - (1.0 - 100_f64.ln() / 10.0)).abs() < 0.01, "{:?}", one.load);
    assert!(one.load.relative() < 0.02);
    let sixteen = found("jbsq:2", 16);
    assert!(sixteen.load.value > 0.93, "{:?}", sixteen.load);
    assert!((sixteen.served_rps.value / 16e6 / sixteen.load.value - 1.0).abs() < 0.01);
}

#[test]
fn what_has_no_answer_is_refused_in_one_line() {
    let exp = || Load::open("exp:1us".parse().unwrap(), 0.5);
    let refused = |system: &System, load: &Load| run(system, load, LENGTH, Seed(1)).unwrap_err();
    let sixteen = System::new(Policy::Jbsq(2), 16);
    assert_eq!(refused(&sixteen, &exp().at(1.0)), SimError::Unstable { got: 1.0 });
    assert_eq!(refused(&sixteen, &exp().at(0.0)), SimError::Load { got: 0.0 });
    assert!(matches!(refused(&sixteen, &exp().at(f64::NAN)), SimError::Load { .. }));
    assert!(matches!(refused(&System::new(Policy::Jbsq(2), 0), &exp()), SimError::Nic(_)));
    assert!(matches!(refused(&sixteen.clone().servers(0), &exp()), SimError::Servers { .. }));
    assert!(matches!(refused(&System::new(Policy::WorkStealing, 16).queue_bound(0), &exp()), SimError::NoQueue { .. }));
    let costs = Costs { lock_handoff: Span::from_ns(1), ..Costs::default() };
    assert!(matches!(refused(&sixteen.clone().costs(costs), &exp()), SimError::LockWithout { .. }));
    let closed = Load::closed("exp:1us".parse().unwrap(), 0, None);
    assert_eq!(refused(&sixteen, &closed), SimError::Clients { got: 0 });
    let slow = Load::open("fixed:1s".parse().unwrap(), 0.005);
    assert!(matches!(refused(&System::new(Policy::Jbsq(2), 1024), &slow), SimError::Endless { .. }));
    for error in [refused(&sixteen, &exp().at(1.0)), refused(&sixteen, &closed)] {
        assert!(!error.to_string().contains('\n') && error.to_string().contains("give"), "{error}");
    }
    // More than the lock lets through: the queue grows until the run says so.
    let costs = Costs { lock_handoff: Span::from_ns(100), ..Costs::default() };
    let locked = System::new(Policy::McsLock, 64).costs(costs);
    let long = Length { warmup: 0, rpcs: 20_000_000 };
    assert!(matches!(run(&locked, &exp(), long, Seed(1)), Err(SimError::Outgrown { .. })));
}
