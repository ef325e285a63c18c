//! Memory under open-loop load.

use nebula_memsys::{Block, Label, MemoryConfig, MemorySystem};
use nebula_workload::Seed;

/// Latencies of the reads at one load.
pub(crate) struct Reads {
    pub(crate) mean_ns: f64,
    pub(crate) p99_ns: f64,
    /// Throughput of the whole run, reads and writes.
    pub(crate) achieved_gb_per_s: f64,
    pub(crate) memory: MemorySystem,
}

/// Random blocks, two reads per write, Poisson arrivals.
pub(crate) fn random_blocks(config: &MemoryConfig, gb_per_s: f64, accesses: u64) -> Reads {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let mut rng = Seed(1).stream("dram");
    let mut waits: Vec<u64> = Vec::new();
    let (mut now_ns, mut last_ps) = (0.0, 0);
    for access in 0..accesses {
        now_ns += rng.exponential() * f64::from(Block::BYTES) / gb_per_s;
        let now_ps = to_ps(now_ns);
        let block = Block(u32::try_from(rng.below(1 << 24)).expect("24 bits"));
        let is_write = rng.below(3) == 0;
        let done = memory.stream(now_ps, block, Label(0), is_write);
        last_ps = last_ps.max(done.at_ps);
        if !is_write && access > accesses / 10 {
            waits.push(done.at_ps - now_ps);
        }
    }
    waits.sort_unstable();
    Reads {
        mean_ns: waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1000.0,
        p99_ns: waits[waits.len() * 99 / 100] as f64 / 1000.0,
        achieved_gb_per_s: memory.traffic().bytes() as f64 / last_ps as f64 * 1000.0,
        memory,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a run takes less than a second")]
fn to_ps(ns: f64) -> u64 {
    (ns * 1000.0) as u64
}
