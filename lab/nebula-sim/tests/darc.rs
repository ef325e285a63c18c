//! DARC against one queue: the same where there is nothing to tell apart, and a shorter tail for
//! short RPCs where there is.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_sim::{Costs, Length, Load, SimError, System, Tally, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 60_000, rpcs: 100_000 };
const HIGH: &str = "mix:short=0.5*fixed:1us;long=0.5*fixed:100us";
const EXTREME: &str = "mix:short=0.995*fixed:500ns;long=0.005*fixed:500us";

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().unwrap(), load), LENGTH, Seed(3)).unwrap()
}

fn figures(tally: &Tally) -> (u64, u64, u128, f64, f64, f64) {
    let Tally { served, nacks, busy_ps, .. } = *tally;
    let tails = tally.latency.quantile(0.99) + tally.latency.quantile(0.999);
    (served, nacks, busy_ps, tally.latency.mean(), tails, tally.queue_depth.mean())
}

#[test]
fn one_type_is_one_queue_rpc_by_rpc() {
    let costs = Costs { dispatch: Span::from_ns(30), notify: Span::from_ns(20), ..Costs::ZERO };
    for (cores, service, load) in [(1, "exp:1us", 0.8), (14, "bimodal:500ns@0.9,5500ns@0.1", 0.9)] {
        for costs in [Costs::ZERO, costs] {
            let of = |policy| tally(&System::new(policy, cores).costs(costs).queue_bound(500), service, load);
            assert_eq!(figures(&of(Policy::Darc)), figures(&of(Policy::SingleQueue)), "{cores} cores, {service}");
        }
    }
    let alike = "mix:a=0.3*fixed:1us;b=0.7*fixed:1100ns";
    let of = |policy| tally(&System::new(policy, 14), alike, 0.9);
    assert_eq!(
        figures(&of(Policy::Darc)),
        figures(&of(Policy::SingleQueue)),
        "types of about one length are one group"
    );
}

#[test]
fn what_it_does_before_its_first_plan_is_not_measured() {
    let of = |warmup| {
        let length = Length { warmup, rpcs: 20_000 };
        run(&System::new(Policy::Darc, 14), &Load::open(HIGH.parse().unwrap(), 0.8), length, Seed(3)).unwrap()
    };
    assert_eq!(figures(&of(10)), figures(&of(60_000)));
    assert!(of(10).by_type[0].slowdown.quantile(0.999) / 1e3 < 12.0);
}

#[test]
fn short_rpcs_keep_their_tail_where_one_queue_loses_it() {
    for (service, load) in [(HIGH, 0.8), (EXTREME, 0.8)] {
        let slowdowns = |policy| {
            let found = tally(&System::new(policy, 14), service, load);
            [0, 1].map(|kind: usize| found.by_type[kind].slowdown.quantile(0.999) / 1e3)
        };
        let ([short, long], [short_in_one, long_in_one]) = (slowdowns(Policy::Darc), slowdowns(Policy::SingleQueue));
        assert!(short < 12.0 && short_in_one > 60.0, "{service}: {short} and {short_in_one}");
        assert!(long < 4.0 * long_in_one, "{service}: {long} and {long_in_one}, which is what it costs");
    }
}

#[test]
fn it_leaves_cores_idle_and_so_carries_less_of_the_long_ones() {
    // Past saturation one queue works all the time; DARC reserves a core for the short ones, which
    // cannot fill it.
    let served = |policy| {
        let found = tally(&System::new(policy, 4).queue_bound(64), "mix:short=0.5*fixed:1us;long=0.5*fixed:50us", 1.5);
        found.busy_ps as f64 / found.window.as_ps() as f64
    };
    let (one, darc) = (served(Policy::SingleQueue), served(Policy::Darc));
    assert!((one - 4.0).abs() < 0.1 && darc < 3.5, "{one} and {darc} cores' work");
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
    let system = System::new(Policy::Darc, 6).costs(costs).servers(2).queue_bound(50);
    let tpcc = "mix:payment=0.44*exp:5700ns;order-status=0.04*exp:6us;new-order=0.44*exp:20us;delivery=0.04*exp:88us;stock-level=0.04*exp:100us";
    let closed = Load::closed(tpcc.parse().unwrap(), 60, Some("exp:40us".parse().unwrap()));
    for load in [closed, Load::open(tpcc.parse().unwrap(), 0.9)] {
        let once = || run(&system, &load, LENGTH, Seed(7)).unwrap();
        let (first, again) = (once(), once());
        assert_eq!(first.served + first.given_up, LENGTH.rpcs);
        assert_eq!(figures(&first), figures(&again));
        assert_eq!(first.by_type.iter().map(|of| of.latency.count()).sum::<u64>(), first.served);
        assert_eq!(first.overheads.dispatch_ps, first.served * 11_000);
    }
}

#[test]
fn its_dispatcher_carries_so_many_and_no_more() {
    let costs = Costs { decision: Span::from_ns(140), ..Costs::ZERO };
    let system = System::new(Policy::Darc, 64).costs(costs).queue_bound(100);
    let found = tally(&system, "exp:1us", 0.9);
    assert!((found.served_rps() * 140e-9 - 1.0).abs() < 0.01, "{}", found.served_rps());
}

#[test]
fn a_mix_of_too_many_types_is_refused() {
    let mix = (0..64).map(|kind| format!("k{kind}=0.0078125*fixed:1us;")).collect::<String>();
    let load = Load::open(format!("mix:{mix}last=0.5*fixed:1us").parse().unwrap(), 0.5);
    let refused = run(&System::new(Policy::Darc, 4), &load, LENGTH, Seed(1)).unwrap_err();
    assert_eq!(refused, SimError::Types { types: 65 });
    assert!(!refused.to_string().contains('\n'));
}
