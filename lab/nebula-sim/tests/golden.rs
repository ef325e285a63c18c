//! A golden run of each policy and of each design of the server level: the same bytes on every
//! machine, until a decision changes.
//!
//! When one is meant to change: put what the failing test prints into `data/golden/policies.csv` or
//! `designs.csv`, in the commit that says why.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_requester::RetryPolicy;
use nebula_sim::blocks::{self, Application, Design, Machine, Scenario};
use nebula_sim::{Costs, Length, Load, System, SystemModel, Tally, run};
use nebula_workload::{Rate, Seed};
use std::fmt::Write;

const GOLDEN: &str = include_str!("../data/golden/policies.csv");

const GOLDEN_DESIGNS: &str = include_str!("../data/golden/designs.csv");

/// RPCs that a policy can tell apart.
const TYPES: &str = "mix:short=0.9*fixed:500ns;long=0.1*fixed:5500ns";

const LENGTH: Length = Length { warmup: 2_000, rpcs: 20_000 };

fn row(text: &mut String, name: &str, tally: &Tally) {
    let Tally { served, given_up, nacks, window, busy_ps, overheads, .. } = tally;
    let (lock_ps, overheads_ps) = (overheads.lock_ps, overheads.total_ps());
    let latency = [0.5, 0.9, 0.99, 0.999].map(|share| format!("{:.0}", tally.latency.quantile(share))).join(",");
    let means = format!("{:.3},{:.3},{:.6}", tally.latency.mean(), tally.queued.mean(), tally.queue_depth.mean());
    let counts = format!("{served},{given_up},{nacks},{},{busy_ps},{lock_ps},{overheads_ps}", window.as_ps());
    writeln!(text, "{name},{counts},{means},{latency},{:.0}", tally.queue_depth.quantile(0.99)).expect("a string");
}

#[test]
fn every_policy_runs_as_its_golden_run() {
    let mut text = String::from(
        "run,served,given_up,nacks,window_ps,busy_ps,lock_ps,overheads_ps,latency_ps_mean,queued_ps_mean,queue_depth_mean,\
         latency_ps_p50,latency_ps_p90,latency_ps_p99,latency_ps_p999,queue_depth_p99\n",
    );
    let open = |service: &str, load| Load::open(service.parse().unwrap(), load);
    let mut add = |name: &str, system: &System, load: &Load| {
        row(&mut text, name, &run(system, load, LENGTH, Seed(42)).unwrap());
    };
    for policy in ["rss", "round-robin", "random", "key-hash", "single-queue", "mcs-lock", "jbsq:1", "jbsq:2", "jbsq:8"]
    {
        for cores in [1, 16, 100] {
            let system = System::new(policy.parse().unwrap(), cores);
            add(&format!("{policy} {cores}"), &system, &open("exp:1us", 0.8));
        }
        let system = System::new(policy.parse().unwrap(), 16).queue_bound(20);
        add(&format!("{policy} 16 bound 20 overloaded"), &system, &open("bimodal:500ns@0.9,5500ns@0.1", 1.3));
    }
    let costs =
        Costs { dispatch: Span::from_ns(40), notify: Span::from_ns(25), lock_handoff: Span::ZERO, ..Costs::ZERO };
    add("jbsq:2 16 with costs", &System::new(Policy::Jbsq(2), 16).costs(costs), &open("lognormal:mean=1us,scv=2", 0.8));
    let costs = Costs { lock_handoff: Span::from_ns(40), ..Costs::default() };
    add("mcs-lock 16 with its lock", &System::new(Policy::McsLock, 16).costs(costs), &open("exp:1us", 0.5));
    let back_off = RetryPolicy::BackOff { first: Span::from_us(3), factor: 2, attempts: 5, seed: 7 };
    let servers = System::new(Policy::Jbsq(2), 4).servers(3).queue_bound(2);
    add("jbsq:2 3x4 back-off", &servers.clone().reaction(back_off), &open("exp:1us", 0.95));
    let another = RetryPolicy::AnotherServer { servers: 3, attempts: 3 };
    add("jbsq:2 3x4 another server", &servers.reaction(another), &open("exp:1us", 0.95));
    let closed = Load::closed("exp:1us".parse().unwrap(), 24, Some("uniform:0ns-2us".parse().unwrap()));
    add("jbsq:2 16 closed", &System::new(Policy::Jbsq(2), 16), &closed);
    let bursts = open("gev:loc=363ns,scale=100ns,shape=0.65", 0.6).arrivals("mmpp2:5x,0.1,20us".parse().unwrap());
    add("single-queue 16 bursts", &System::new(Policy::SingleQueue, 16), &bursts);
    for (policy, groups) in
        [("two-choices", 0), ("work-stealing", 0), ("preemptive:2us", 0), ("darc", 0), ("altocumulus:2", 2)]
    {
        let system = System::new(policy.parse().unwrap(), 16).dedicated(groups);
        add(&format!("{policy} 16"), &system, &open(TYPES, 0.8));
        add(&format!("{policy} 16 bound 20 overloaded"), &system.queue_bound(20), &open(TYPES, 1.3));
    }
    for name in SystemModel::shipped() {
        let system = SystemModel::named(name).unwrap().system(16).unwrap();
        add(&format!("system {name}"), &system, &open("mix:short=0.9*fixed:5us;long=0.1*fixed:55us", 0.3));
    }
    assert!(text == GOLDEN, "data/golden/policies.csv differs from this run:\n{text}");
}

#[test]
fn every_design_runs_as_its_golden_run() {
    let mut text = String::from("run,served,nacked,latency_ps_mean,latency_ps_p99,dram_blocks,busy_ps\n");
    let source = Machine::source("isca20").unwrap();
    for name in Design::shipped() {
        // The second cache is too small for what the run touches.
        for mib in [16, 4] {
            let machine = Machine::parse_with(source, &[("memory.llc.bytes", f64::from(mib << 20))]).unwrap();
            let scenario = Scenario::new(machine, Design::named(name).unwrap(), Application::key_value(0.5, 512));
            let length = Length { warmup: 1_000, rpcs: 5_000 };
            let tally = blocks::run(&scenario, Rate::try_new(12e6).unwrap(), length, Seed(7)).unwrap();
            let (mean, p99) = (tally.latency.mean(), tally.latency.quantile(0.99));
            let counts = format!("{name} {mib} MiB,{},{}", tally.served, tally.nacked);
            writeln!(text, "{counts},{mean:.3},{p99:.0},{},{}", tally.traffic.total(), tally.busy_ps)
                .expect("a string");
        }
    }
    assert!(text == GOLDEN_DESIGNS, "data/golden/designs.csv differs from this run:\n{text}");
}
