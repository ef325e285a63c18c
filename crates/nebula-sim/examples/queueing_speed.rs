//! How many RPCs a second of real time the queueing level simulates, beside a bare Kiefer–Wolfowitz recursion of the same model.

#![allow(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "an example that prints, with times below 2^53 ps"
)]

use nebula_nic::Policy;
use nebula_sim::{Length, Load, System, run};
use nebula_workload::{Rng, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

/// The recursion: an RPC begins when it has come and the first of `cores` is free.
fn recursion(cores: usize, load: f64, rpcs: u64) -> f64 {
    let seed = Seed(1);
    let (mut arrivals, mut services) = (seed.stream("arrivals"), seed.stream("service"));
    let mut free: BinaryHeap<Reverse<u64>> = (0..cores).map(|_| Reverse(0)).collect();
    let exponential = |rng: &mut Rng, mean: f64| (-libm::log(rng.unit()) * mean) as u64;
    let (mut now, mut sum) = (0, 0_u64);
    for _ in 0..rpcs {
        now += exponential(&mut arrivals, 1e6 / (cores as f64 * load));
        let mut first = free.peek_mut().expect("cores");
        let end = first.0.max(now) + exponential(&mut services, 1e6);
        *first = Reverse(end);
        sum += end - now;
    }
    sum as f64 / rpcs as f64
}

fn main() {
    let (rpcs, rounds) = (1_000_000, 15);
    let policies = ["single-queue", "jbsq:1", "jbsq:2", "rss"];
    let load = Load::open("exp:1us".parse().expect("a service time"), 0.95);
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        rpcs as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    let mut best = vec![0.0_f64; policies.len() + 1];
    for _ in 0..rounds {
        best[0] = best[0].max(time(&mut || _ = black_box(recursion(64, 0.95, rpcs))));
        for (policy, best) in policies.iter().zip(&mut best[1..]) {
            let system = System::new(policy.parse::<Policy>().expect("a policy"), 64);
            let length = Length { warmup: 0, rpcs };
            *best = best.max(time(&mut || _ = black_box(run(&system, &load, length, Seed(1)))));
        }
    }
    println!("bare recursion: {:.1} M RPC/s", best[0]);
    for (policy, rate) in policies.iter().zip(&best[1..]) {
        println!("{policy}: {rate:.1} M RPC/s, {:.2} of the recursion", rate / best[0]);
    }
}
