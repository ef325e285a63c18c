//! How many RPCs and DRAM accesses a second the memory model simulates on one core, and what it finds.
//!
//! `cargo run --release -p nebula-sim --example memory_speed [RPCs]`

#![expect(clippy::print_stdout, reason = "an example prints")]

use nebula_sim::memory::{Design, MemoryError, MemoryModel, MemoryRun, run};
use std::time::Instant;

fn main() -> Result<(), MemoryError> {
    let rpcs = std::env::args().nth(1).and_then(|rpcs| rpcs.parse().ok()).unwrap_or(300_000);
    let model = MemoryModel::default();
    println!(
        "design    load   p99 ns  mean ns   GB/s  bytes/RPC  depth p99  wait p99 ns  saturated  k RPC/s  M accesses/s"
    );
    for (name, design, load) in cases() {
        let begun = Instant::now();
        let tally = run(&model, &design, &MemoryRun::of(load, rpcs))?;
        let seconds = begun.elapsed().as_secs_f64();
        let served = (rpcs + rpcs / 10) as f64 / seconds;
        println!(
            "{name:8} {load:5.3} {:8.0} {:8.1} {:6.1} {:10.0} {:10.0} {:12.1} {:>10} {:8.0} {:13.1}",
            tally.latency_ns(0.99),
            tally.latency.mean() / 1e3,
            tally.dram_gb_per_s,
            tally.bytes_per_rpc,
            tally.queue_depth.quantile(0.99),
            tally.bank_wait.quantile(0.99) / 1e3,
            tally.is_saturated,
            served / 1e3,
            served * tally.bytes_per_rpc / 64.0 / 1e6,
        );
    }
    Ok(())
}

fn cases() -> impl Iterator<Item = (&'static str, Design, f64)> {
    let designs = [
        ("rss", Design::rss(), &[0.1, 0.5, 0.56, 0.6, 0.61, 0.62][..]),
        ("rpcvalet", Design::rpcvalet(), &[0.1, 0.5, 0.56, 0.6, 0.61, 0.62, 0.9]),
        ("srq", Design::srq(), &[0.5, 0.6, 0.76, 0.85, 0.97]),
        ("nebula", Design::nebula(), &[0.01, 0.5, 0.76, 0.97, 0.985, 0.99]),
    ];
    designs.into_iter().flat_map(|(name, design, loads)| loads.iter().map(move |&load| (name, design.clone(), load)))
}
