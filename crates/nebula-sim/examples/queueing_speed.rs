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
    let rpcs = 5_000_000;
    for _ in 0..3 {
        let start = Instant::now();
        black_box(recursion(64, 0.95, rpcs));
        let bare = rpcs as f64 / start.elapsed().as_secs_f64();
        println!("bare recursion: {:.1} M RPC/s", bare / 1e6);
        for (policy, cores) in [
            ("single-queue", 64),
            ("jbsq:2", 64),
            ("rss", 64),
            ("jbsq:2", 16),
            ("jbsq:2", 1024),
            ("single-queue", 16),
            ("single-queue", 1024),
            ("rss", 16),
            ("rss", 1024),
            ("jbsq:4", 16),
            ("jbsq:4", 1024),
        ] {
            let load = Load::open("exp:1us".parse().expect("a service time"), 0.95);
            let system = System::new(policy.parse::<Policy>().expect("a policy"), cores);
            let start = Instant::now();
            let tally = run(&system, &load, Length { warmup: 0, rpcs }, Seed(1)).expect("a run");
            let rate = rpcs as f64 / start.elapsed().as_secs_f64();
            println!(
                "{policy} {cores}: {:.1} M RPC/s, {:.2} of the recursion; mean {:.3} us p99 {:.3} us depth {:.2}",
                rate / 1e6,
                rate / bare,
                tally.latency.mean() / 1e6,
                tally.latency.quantile(0.99) / 1e6,
                tally.queue_depth.mean()
            );
        }
    }
}
