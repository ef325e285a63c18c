//! Intervals hold what they say, or the point is marked unsettled: cases that once were wrong.
//!
//! `cargo xtask coverage` counts over thousands of runs how often intervals hold the exact value.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use nebula_nic::{Policy, Span};
use nebula_sim::sizing::queue_at_slo;
use nebula_sim::{Effort, Estimate, Interval, Load, Met, SearchEnd, SimError, System, estimate, highest_load};
use nebula_workload::Seed;

fn exponential(load: f64) -> Load {
    Load::open("exp:1us".parse().unwrap(), load)
}

fn shown(cores: u16, load: f64, effort: &Effort) -> Estimate {
    estimate(&System::new(Policy::SingleQueue, cores), &exponential(load), effort, &|| ()).unwrap()
}

const SLO: Span = Span::from_us(10);

#[test]
fn a_load_that_does_not_settle_is_said_not_to_and_is_never_met() {
    // M/M/16 at 0.999, whose p99 is 288.5 µs, and M/M/64 at 0.995, whose p99 is 15.4 µs.
    for (cores, load) in [(16, 0.999), (64, 0.995)] {
        let found = shown(cores, load, &Effort::default());
        assert!(!found.is_settled && found.met(SLO) != Met::Yes, "{cores} cores: {:?}", found.p99());
        assert_eq!(found.met(Span::from_us(1_000_000)), Met::Undecided, "not even a second is sure to be met");
    }
    // The same is found where no formula gives the relaxation time: bursts, and a bound that is
    // never met.
    let system = System::new(Policy::SingleQueue, 16);
    let bursts = exponential(0.9).arrivals("mmpp2:5x,0.1,2ms".parse().unwrap());
    let effort = Effort::default().rpcs(20_000);
    assert!(!estimate(&system, &bursts, &effort, &|| ()).unwrap().is_settled);
    let bounded = system.queue_bound(1_000_000);
    assert!(!estimate(&bounded, &exponential(0.995), &effort, &|| ()).unwrap().is_settled);
    assert!(estimate(&bounded, &exponential(0.5), &effort, &|| ()).unwrap().is_settled);
}

#[test]
fn a_load_that_takes_long_gets_as_many_rpcs_as_it_needs() {
    let found = shown(16, 0.97, &Effort::default());
    // The exact p99 is 10.58 µs.
    assert!(found.is_settled && found.tally.served > 5_000_000, "{} RPCs", found.tally.served);
    assert!(found.p99().contains(10.58e6), "{:?}", found.p99());
}

#[test]
fn the_p99_of_short_runs_is_in_its_interval_or_the_run_says_that_it_is_too_short() {
    // 500,000 RPCs at a load of 0.9 on 16 cores are 1,460 relaxation times, of which 9,000 are
    // wanted.
    assert!(!shown(16, 0.9, &Effort::default().rpcs(50_000)).is_settled);
    // 650,000 RPCs of M/M/4 at 0.8 are 9,050; the exact p99 is 6.8947 µs.
    let effort = Effort::default().rpcs(65_000);
    let runs: Vec<Estimate> =
        (0..50).map(|run| shown(4, 0.8, &effort.seed(Seed(100 + run)))).filter(|found| found.is_settled).collect();
    let held = runs.iter().filter(|found| found.p99().contains(6.8947e6)).count() as f64 / runs.len() as f64;
    assert!(runs.len() > 40 && held >= 0.87, "{held} of {}", runs.len());
}

#[test]
fn no_end_of_an_interval_is_negative_and_each_figure_has_one() {
    let effort = Effort::default().rpcs(1_000).replications(2);
    let load = Load::open("mix:short=0.99*fixed:500ns;long=0.01*fixed:50500ns".parse().unwrap(), 0.9);
    let found = estimate(&System::new(Policy::Rss, 2), &load, &effort, &|| ()).unwrap();
    let quantiles = [0.5, 0.9, 0.99, 0.999].map(|share| found.quantile(share));
    let slowdown = found.slowdown(0.99).unwrap();
    for Interval { value, lo, hi } in quantiles.into_iter().chain([found.mean(), found.served_rps(), slowdown]) {
        assert!(0.0 <= lo && lo <= value && value <= hi && lo < hi, "{lo} {value} {hi}");
    }
    assert_eq!(found.accepted(), Interval::exact(1.0));
}

#[test]
fn a_verdict_is_undecided_while_the_slo_is_in_the_interval() {
    let found = shown(16, 0.5, &Effort::default().rpcs(20_000));
    let p99 = found.p99();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency")]
    let met = |ps: f64| found.met(Span::from_ps(ps as u64));
    assert_eq!([0.99 * p99.lo, p99.value, 1.01 * p99.hi].map(met), [Met::No, Met::Undecided, Met::Yes]);
}

#[test]
fn the_load_at_the_slo_is_that_of_the_formula() {
    let system = System::new(Policy::SingleQueue, 4);
    let exact = queue_at_slo(&system, &exponential(0.5), SLO, &Effort::default(), &|| ()).unwrap().load.value;
    let bracket = system.bracket(&exponential(0.5).service);
    let effort = Effort::default().rpcs(150_000).replications(5).precision(0.02);
    let found = highest_load(&system, &exponential(0.5), SLO, bracket, &effort, &|| ()).unwrap();
    assert!(found.end == SearchEnd::Missed && found.load.contains(exact), "{exact} {:?}", found.load);
    assert!(found.load.relative() < 0.02 && found.at.is_settled, "{:?}", found.load);
}

#[test]
fn a_search_does_not_answer_beyond_what_settles() {
    // One RPC in 200 takes a hundred times the others' time: a squared coefficient of variation
    // of 51.
    let load = Load::open("bimodal:492ns@0.995,102us@0.005".parse().unwrap(), 0.5);
    assert!((load.service.scv().unwrap() - 51.0).abs() < 1.0);
    let (system, effort) = (System::new(Policy::Jbsq(2), 64), Effort::default().rpcs(20_000));
    let queue = queue_at_slo(&system, &load, SLO, &effort, &|| ()).unwrap();
    assert!(queue.end == Some(SearchEnd::Unsettled) && queue.load.value < 0.9, "{queue:?}");
    assert!(queue.load.hi > 0.99, "the true one may be higher: {queue:?}");
    let short = Effort::default().rpcs(1_000).replications(2);
    let pareto = Load::open("pareto:min=500ns,alpha=1.1".parse().unwrap(), 0.5);
    let found = queue_at_slo(&System::new(Policy::SingleQueue, 1), &pareto, Span::from_us(1_000), &short, &|| ());
    assert!(matches!(found, Err(SimError::Unsettled { .. }) | Ok(_)), "{found:?}");
}

#[test]
fn windows_grow_where_no_formula_says_how_long_they_should_be() {
    // A bound that is never met: the exact p99 of M/M/1 at 0.9 is ln 100 over 0.1 µs, and 5,000
    // RPCs are far too few.
    let system = System::new(Policy::SingleQueue, 1).queue_bound(2_000);
    let effort = Effort::default().rpcs(5_000).rpcs_max(320_000);
    let found = estimate(&system, &exponential(0.9), &effort, &|| ()).unwrap();
    assert!(found.is_settled && found.length.rpcs >= 20_000, "{:?}", found.length);
    assert!(found.p99().contains(46.05e6), "{:?}", found.p99());
    // What settles at once is left as it is, and so is what is asked for exactly.
    let low = estimate(&system, &exponential(0.4), &effort, &|| ()).unwrap();
    assert_eq!((low.length.rpcs, low.is_settled), (5_000, true));
    let exact = estimate(&system, &exponential(0.9), &Effort::default().rpcs(5_000), &|| ()).unwrap();
    assert_eq!((exact.length.rpcs, exact.is_settled), (5_000, false));
    // Bursts that overload the cores for 20 µs now and then.
    let bursts = exponential(0.6).arrivals("mmpp2:3x,0.1,20us".parse().unwrap());
    let found = estimate(&system, &bursts, &effort, &|| ()).unwrap();
    assert!(found.is_settled && found.length.rpcs > 5_000, "{:?}", found.length);
}

#[test]
fn a_search_goes_on_until_it_is_decided() {
    let system = System::new(Policy::SingleQueue, 1);
    let load = Load::open("bimodal:500ns@0.9,5500ns@0.1".parse().unwrap(), 0.5);
    let bracket = system.bracket(&load.service);
    let search = |effort: &Effort| highest_load(&system, &load, Span::from_us(30), bracket, effort, &|| ()).unwrap();
    let once = search(&Effort::default().rpcs(100_000).replications(3).precision(0.9));
    let decided = search(&Effort::default().rpcs(100_000).replications(3));
    assert!(once.load.relative() > 0.01 && once.at.replications() == 3, "{:?}", once.load);
    assert!(decided.load.relative() < once.load.relative() && decided.at.replications() > 3, "{:?}", decided.load);
    assert_eq!(decided.at.is_precise, Some(decided.load.relative() <= 0.01));
    // The p99 at the load that was found lies on the SLO: no more is claimed.
    assert_eq!(decided.at.met(Span::from_us(30)), Met::Undecided);
}
