//! Memory's latency over its load: random blocks, two reads to a write, Poisson arrivals.
//!
//! `cargo run --release -p nebula-memsys --example dram_curve`

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use nebula_memsys::{Block, DramConfig, Label, MemoryConfig, MemorySystem};
use nebula_workload::Seed;

#[path = "../tests/machines/mod.rs"]
mod machines;

const ACCESSES: u64 = 600_000;

fn main() {
    let policies = [("open rows", None), ("closed when idle for 100 ns", Some(100.0)), ("closed at once", Some(0.0))];
    for (name, row_idle_ns) in policies {
        let dram = DramConfig { path_ns: 0.0, row_idle_ns, ..machines::ddr4() };
        println!("{name}: 2 x 15.5 GB/s, 2/3 reads\n  GB/s  mean ns   p99 ns   hit closed conflict %  full batches");
        let config = MemoryConfig { dram, ..machines::paper() };
        for gb_per_s in [1, 5, 10, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30] {
            print_row(&config, f64::from(gb_per_s));
        }
    }
}

fn print_row(config: &MemoryConfig, gb_per_s: f64) {
    let mut memory = MemorySystem::try_new(config).expect("the machine fits together");
    let mut rng = Seed(1).stream("dram");
    let mut waits: Vec<u64> = Vec::new();
    let (mut now_ns, mean_ns) = (0.0, f64::from(Block::BYTES) / gb_per_s);
    for access in 0..ACCESSES {
        now_ns += rng.exponential() * mean_ns;
        let now_ps = (now_ns * 1000.0) as u64;
        let block = Block(u32::try_from(rng.below(1 << 24)).expect("24 bits"));
        let is_write = rng.below(3) == 0;
        let done = memory.stream(now_ps, block, Label(0), is_write);
        if !is_write && access > ACCESSES / 10 {
            waits.push(done.at_ps - now_ps);
        }
    }
    waits.sort_unstable();
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1000.0;
    let p99 = waits[waits.len() * 99 / 100] as f64 / 1000.0;
    let dram = memory.counters().dram;
    let share = |part: u64| 100.0 * part as f64 / (dram.row_hits + dram.row_closed + dram.row_conflicts) as f64;
    let rows = [dram.row_hits, dram.row_closed, dram.row_conflicts].map(share);
    let full = dram.full_batches as f64 * f64::from(config.dram.write_batch) / dram.writes as f64;
    println!("{gb_per_s:6.1} {mean:8.1} {p99:8.1} {:5.1} {:6.1} {:8.1}   {full:8.2}", rows[0], rows[1], rows[2]);
}
