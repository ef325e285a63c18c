//! Memory latency over load: random blocks, two reads per write, Poisson arrivals.
//!
//! `cargo run --release -p nebula-memsys --example dram_curve`

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use machines::load;
use nebula_memsys::{DramConfig, MemoryConfig};

#[path = "../tests/machines/mod.rs"]
mod machines;

fn main() {
    let policies =
        [("open rows", None), ("closed when idle for 100 ns", Some(100.0)), ("closed immediately", Some(0.0))];
    for (name, row_idle_ns) in policies {
        let dram = DramConfig { path_ns: 0.0, row_idle_ns, ..machines::ddr4() };
        println!("{name}: 2 x 15.5 GB/s, 2/3 reads");
        println!("  GB/s  mean ns   p99 ns   closed % conflict %   writes in full batches");
        let config = MemoryConfig { dram, ..machines::paper() };
        for gb_per_s in [1, 5, 10, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30] {
            print_row(&config, f64::from(gb_per_s));
        }
    }
}

fn print_row(config: &MemoryConfig, gb_per_s: f64) {
    let reads = load::random_blocks(config, gb_per_s, 600_000);
    let dram = reads.memory.counters().dram;
    let accesses = (dram.row_hits + dram.row_closed + dram.row_conflicts) as f64;
    let [closed, conflicts] = [dram.row_closed, dram.row_conflicts].map(|part| 100.0 * part as f64 / accesses);
    let full = dram.full_batches as f64 * f64::from(config.dram.write_batch) / dram.writes as f64;
    let (mean_ns, p99_ns) = (reads.mean_ns, reads.p99_ns);
    println!("{gb_per_s:6.1} {mean_ns:8.1} {p99_ns:8.1} {closed:10.1} {conflicts:10.1} {full:10.2}");
}
