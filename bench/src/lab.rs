//! The simulator: simulated RPCs per second of real time, compared with a bare recursion and with
//! SimPy.
//!
//! Rounds of the sides alternate, and the result is the median of their ratios, so that
//! interference affects both sides.

use crate::Failure;
use crate::measure::median;
use crate::row::{self, Bound};
use nebula_nic::{Policy, Span};
use nebula_sim::blocks::{self, Application, Machine, Scenario};
use nebula_sim::lanes::{self, Lane};
use nebula_sim::memory::{self, Design, MemoryModel, MemoryRun};
use nebula_sim::{Costs, Length, Load, System};
use nebula_workload::{Rate, Rng, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 9;
const RPCS: u64 = 1_000_000;
const LOAD: f64 = 0.95;

pub fn run(python: Option<&str>) -> Result<(), Failure> {
    beside_the_recursion(python)?;
    by_recursion()?;
    side_by_side()?;
    for policy in ["single-queue", "jbsq:2", "jbsq:4", "rss", "random", "round-robin", "key-hash"] {
        by_cores(policy)?;
    }
    for policy in ["work-stealing", "preemptive:5us", "darc", "altocumulus"] {
        schedulers(policy)?;
    }
    groups_at_200_mrps()?;
    memory_model()?;
    server_level()
}

/// A policy that decides again after dispatch, with as many cores per group as in the papers and
/// costs that exercise all mechanisms.
fn scheduler(policy: &str, cores: u16) -> Result<System, Failure> {
    let groups = cores / 16;
    Ok(match policy {
        "altocumulus" => System::new(format!("altocumulus:{groups}").parse()?, cores).dedicated(groups),
        policy => System::new(policy.parse()?, cores),
    })
}

/// The cost of an RPC under a policy that decides again, with 1,024 cores compared with 16.
fn schedulers(policy: &str) -> Result<(), Failure> {
    let load = Load::open("mix:short=0.9*fixed:500ns;long=0.1*fixed:5500ns".parse()?, 0.85);
    let ns = |cores| -> Result<f64, Failure> { Ok(1e3 / simulated(&scheduler(policy, cores)?, &load)?) };
    let (mut few, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        few.push(ns(16)?);
        ratios.push(ns(1024)? / few[few.len() - 1]);
    }
    let (few, ratio) = (median(few), median(ratios));
    let what = format!("{policy}, bimodal-1 at 0.85, 1,024 cores");
    row::against(&what, few * ratio, "ns a RPC", ("16 cores", few), Some(Bound::AtMost(2.0)));
    Ok(())
}

fn simulated(system: &System, load: &Load) -> Result<f64, Failure> {
    // An untimed run first, so that errors are reported.
    nebula_sim::run(system, load, Length { warmup: 0, rpcs: RPCS / 20 }, Seed(1))?;
    let length = Length { warmup: 0, rpcs: RPCS };
    Ok(rate(RPCS, || _ = black_box(nebula_sim::run(system, load, length, Seed(1)))))
}

/// Altocumulus's largest published set-up: 16 groups of 15 workers and a manager.
fn groups_at_200_mrps() -> Result<(), Failure> {
    let load = Load::open("exp:1us".parse()?, 200.0 / 256.0);
    let system = scheduler("altocumulus", 256)?;
    let rates = (0..5).map(|_| simulated(&system, &load)).collect::<Result<Vec<_>, _>>()?;
    let what = "altocumulus:16, 256 cores at 200 MRPS, one core of ours";
    row::against(what, median(rates), "M RPC/s", ("the goal of 1", 1.0), Some(Bound::AtLeast(1.0)));
    Ok(())
}

fn rate(rpcs: u64, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    rpcs as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn simulate(policy: Policy, cores: u16) -> Result<f64, Failure> {
    simulated(&System::new(policy, cores), &Load::open("exp:1us".parse()?, LOAD))
}

/// Kiefer and Wolfowitz: an RPC begins when it has arrived and the first of the cores is free. Only
/// the mean is measured.
fn recursion(cores: usize, rpcs: u64) -> f64 {
    let seed = Seed(1);
    let (mut arrivals, mut services) = (seed.stream("arrivals"), seed.stream("service"));
    let mut free: BinaryHeap<Reverse<u64>> = (0..cores).map(|_| Reverse(0)).collect();
    let exponential = |rng: &mut Rng, mean: f64| (-libm::log(rng.unit()) * mean) as u64;
    let (mut now, mut sum) = (0, 0_u64);
    for _ in 0..rpcs {
        now += exponential(&mut arrivals, 1e6 / (cores as f64 * LOAD));
        let mut first = free.peek_mut().expect("cores");
        let end = first.0.max(now) + exponential(&mut services, 1e6);
        *first = Reverse(end);
        sum += end - now;
    }
    sum as f64 / rpcs as f64
}

/// Alternating rounds of the event-driven machines and of `run`, each compared with the bare
/// recursion.
fn beside_the_recursion(python: Option<&str>) -> Result<(), Failure> {
    let (mut fast, mut fast_ratios, mut machines, mut machines_ratios) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let bare = rate(RPCS, || _ = black_box(recursion(64, RPCS)));
        fast.push(simulate(Policy::SingleQueue, 64)?);
        machines.push(by_machines(&System::new(Policy::SingleQueue, 64), LOAD)?);
        fast_ratios.push(fast[fast.len() - 1] / bare);
        machines_ratios.push(machines[machines.len() - 1] / bare);
    }
    let simpy = python.map(simpy_rps).transpose()?.map(|rps| rps / 1e6);
    let sides = [
        ("NIC machines, histograms and all", machines, machines_ratios, 0.4, None),
        ("by recursion, histograms and all", fast, fast_ratios, 1.0, Some(300.0)),
    ];
    for (side, rates, ratios, least, of_simpy) in sides {
        let (ours, ratio) = (median(rates), median(ratios));
        let what = format!("M/M/64 at 0.95, single-queue: {side}");
        let bare = ("bare Kiefer-Wolfowitz recursion", ours / ratio);
        row::against(&what, ours, "M RPC/s", bare, Some(Bound::AtLeast(least)));
        if let Some(simpy) = simpy {
            row::against(&what, ours, "M RPC/s", ("the same in SimPy", simpy), of_simpy.map(Bound::AtLeast));
        }
    }
    Ok(())
}

/// Millions of RPCs per second on the event-driven machines, whatever `run` would choose.
fn by_machines(system: &System, load: f64) -> Result<f64, Failure> {
    let load = Load::open("exp:1us".parse()?, load);
    let state = |cores, seed| system.policy.dispatcher(cores, seed);
    let length = |rpcs| Length { warmup: 0, rpcs };
    nebula_sim::run_with(system, &load, length(RPCS / 20), Seed(1), state)?;
    Ok(rate(RPCS, || _ = black_box(nebula_sim::run_with(system, &load, length(RPCS), Seed(1), state))))
}

/// Policies that a recursion simulates, on 64 cores: compared with a goal in millions of RPCs per
/// second, and with the machines.
fn by_recursion() -> Result<(), Failure> {
    let costs = Costs { receive: Span::from_ns(50), ..Costs::ZERO };
    let wires = Costs { dispatch: Span::from_ns(40), notify: Span::from_ns(25), ..Costs::ZERO };
    let cases = [
        ("single-queue", Costs::ZERO, 30.0),
        ("random", Costs::ZERO, 30.0),
        ("rss", Costs::ZERO, 30.0),
        ("round-robin", Costs::ZERO, 30.0),
        ("rss", costs, 20.0),
        ("jbsq:2", Costs::ZERO, 20.0),
        ("jbsq:2", wires, 20.0),
    ];
    for (policy, costs, goal) in cases {
        let (system, load) =
            (System::new(policy.parse()?, 64).costs(costs), if costs == Costs::ZERO { LOAD } else { 0.9 });
        let (mut ours, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            ours.push(simulated(&system, &Load::open("exp:1us".parse()?, load))?);
            ratios.push(ours[ours.len() - 1] / by_machines(&system, load)?);
        }
        let (ours, ratio) = (median(ours), median(ratios));
        let with = if costs == Costs::ZERO { "" } else { " with costs" };
        let what = format!("{policy}{with}, 64 cores at {load}, by recursion");
        let goal = (format!("the goal of {goal}"), goal);
        row::against(&what, ours, "M RPC/s", (&goal.0, goal.1), Some(Bound::AtLeast(1.0)));
        row::against(&what, ours, "M RPC/s", ("the NIC machines", ours / ratio), Some(Bound::AtLeast(1.3)));
    }
    Ok(())
}

/// The runs of a search, eight of them side by side on one core: RPCs of all lanes.
fn side_by_side() -> Result<(), Failure> {
    let system = System::new(Policy::SingleQueue, 64);
    for (service, at) in [("exp:1us", LOAD), ("fixed:1us", LOAD), ("bimodal:500ns@0.9,5500ns@0.1", 0.9)] {
        let load = Load::open(service.parse()?, at);
        let length = Length { warmup: 0, rpcs: RPCS / lanes::LANES as u64 };
        let lane = |index| Lane { load: at, length, seed: Seed(1).replica(index) };
        let each: Vec<Lane> = (0..lanes::LANES as u64).map(lane).collect();
        let within = Span::from_us(10);
        lanes::on_time(&system, &load, &each, within)?;
        let rates = (0..5).map(|_| rate(RPCS, || _ = black_box(lanes::on_time(&system, &load, &each, within))));
        let what = format!("single-queue, 64 cores, {service} at {at}, eight runs side by side");
        row::against(&what, median(rates.collect()), "M RPC/s", ("the goal of 100", 100.0), Some(Bound::AtLeast(1.0)));
    }
    Ok(())
}

fn simpy_rps(python: &str) -> Result<f64, Failure> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/simpy/mmk.py");
    let output = Command::new(python).args([script, "64", "0.95", "200000"]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().ok_or("SimPy printed nothing")?.parse()?)
}

/// The cost of an RPC with 1,024 cores, compared with 16.
fn by_cores(policy: &str) -> Result<(), Failure> {
    let parsed: Policy = policy.parse()?;
    let (mut many, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let (few_ns, many_ns) = (1e3 / simulate(parsed, 16)?, 1e3 / simulate(parsed, 1024)?);
        many.push(many_ns);
        ratios.push(many_ns / few_ns);
    }
    let (ns, ratio) = (median(many), median(ratios));
    row::against(&format!("{policy}, 1,024 cores"), ns, "ns a RPC", ("16 cores", ns / ratio), Some(Bound::AtMost(2.0)));
    Ok(())
}

fn memory_model() -> Result<(), Failure> {
    let run = MemoryRun::of(0.55, 300_000);
    let mut rates = Vec::new();
    for _ in 0..5 {
        memory::run(&MemoryModel::default(), &Design::rpcvalet(), &MemoryRun::of(0.55, 10_000))?;
        rates.push(rate(run.rpcs, || _ = black_box(memory::run(&MemoryModel::default(), &Design::rpcvalet(), &run))));
    }
    let what = "memory-bandwidth model, 34 blocks a RPC, one core";
    row::against(what, median(rates), "M RPC/s", ("the goal of 0.5", 0.5), Some(Bound::AtLeast(1.0)));
    Ok(())
}

/// The cost of an RPC at the block level, with all its blocks: for the designs with 16 cores, and
/// for NEBULA on a machine that is 16 times as large.
fn server_level() -> Result<(), Failure> {
    let (mut many, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (few_ns, many_ns) = (1e3 / served("nebula", 8e6, 1.0)?, 1e3 / served("nebula", 8e6, 16.0)?);
        many.push(many_ns);
        ratios.push(many_ns / few_ns);
    }
    for (design, rps) in [("nebula", 20e6), ("nebula-base", 20e6), ("rpcvalet", 11e6)] {
        let rates = (0..5).map(|_| served(design, rps, 1.0)).collect::<Result<Vec<_>, _>>()?;
        let what = format!("block level, {design}, 16 cores, 512 B, one core of ours");
        row::against(&what, median(rates), "M RPC/s", ("the goal of 0.5", 0.5), Some(Bound::AtLeast(1.0)));
    }
    let (ns, ratio) = (median(many), median(ratios));
    row::against("block level, nebula, 256 cores", ns, "ns a RPC", ("16 cores", ns / ratio), Some(Bound::AtMost(3.0)));
    Ok(())
}

/// Millions of RPCs per second of real time, on the paper's machine scaled by `times`.
fn served(design: &str, rps: f64, times: f64) -> Result<f64, Failure> {
    let text = Machine::source("isca20").ok_or("there is no machine isca20")?;
    let side = 4.0 * times.sqrt();
    // Links are scaled too: all packets arrive through one port, so the comparison is well below
    // saturation.
    let larger = [
        "memory.llc.bytes",
        "memory.mesh.link_bytes",
        "memory.dram.channels",
        "nic.link_gbps",
        "deployment.receive_buffer_bytes",
        "deployment.send_pool_bytes",
    ];
    let mut changes = vec![("memory.cores", 16.0 * times), ("memory.mesh.columns", side), ("memory.mesh.rows", side)];
    for key in larger {
        changes.push((key, Machine::number(text, key)? * times));
    }
    let design = blocks::Design::named(design).ok_or("there is no such design")?;
    let scenario = Scenario::new(Machine::parse_with(text, &changes)?, design, Application::key_value(0.5, 512));
    // After this many RPCs the LLC is full: each new block evicts another.
    let warmup = (45_000.0 * times) as u64;
    let length = Length { warmup, rpcs: warmup + 100_000 };
    let rate_of = Rate::try_new(rps * times)?;
    let mut failed = None;
    let rate = rate(length.warmup + length.rpcs, || {
        failed = blocks::run(&scenario, rate_of, length, Seed(1)).map(black_box).err();
    });
    failed.map_or(Ok(rate), |error| Err(error.into()))
}
