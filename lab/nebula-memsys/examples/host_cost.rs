//! What a simulated access costs the host, on a chip of 16 cores and on one of 256.
//!
//! `cargo run --release -p nebula-memsys --example host_cost [rows whose name has this word]`

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use nebula_memsys::{Block, Label, MemoryConfig, MemorySystem};
use nebula_workload::{Rng, Seed};
use std::time::Instant;

#[path = "../tests/machines/mod.rs"]
mod machines;

const ACCESSES: usize = 1 << 20;
const ROUNDS: usize = 7;

fn main() {
    println!("best of {ROUNDS} rounds, ns per access          16 cores  256 cores");
    let quarter = |config: &MemoryConfig| config.llc.bytes / 64 / 4;
    let all_miss = |config: &MemoryConfig| config.llc.bytes;
    row("L1 hits", |_| 200, false, load);
    row("LLC hits by the NIC, in a small buffer", |_| 1280, false, nic_write);
    row("LLC hits, over a quarter of it", quarter, false, load);
    row("the same, eight hinted in advance", quarter, true, load);
    row("loads that reach memory", all_miss, false, load);
    row("the same, eight hinted in advance", all_miss, true, load);
    row("stores that fetch and write back", all_miss, false, store);
    row("the same, eight hinted in advance", all_miss, true, store);
    row("NIC writes that fetch and write back", all_miss, false, nic_write);
    row("the same, eight hinted in advance", all_miss, true, nic_write);
}

fn load(memory: &mut MemorySystem, now_ps: u64, core: u16, block: Block) -> u64 {
    memory.load(now_ps, core, block, Label(0)).at_ps
}

fn store(memory: &mut MemorySystem, now_ps: u64, core: u16, block: Block) -> u64 {
    memory.store(now_ps, core, block, Label(0)).at_ps
}

fn nic_write(memory: &mut MemorySystem, now_ps: u64, _core: u16, block: Block) -> u64 {
    memory.nic_write(now_ps, block, Label(0)).at_ps
}

type Access = fn(&mut MemorySystem, u64, u16, Block) -> u64;

fn row(name: &str, blocks: fn(&MemoryConfig) -> u64, is_expected: bool, access: Access) {
    if std::env::args().nth(1).is_some_and(|word| !name.contains(&word)) {
        return;
    }
    let machines = [machines::paper(), machines::large()];
    let [small, large] = machines.map(|config| best_ns(&config, blocks(&config), is_expected, access));
    println!("{name:<38} {small:8.1} {large:10.1}");
}

fn best_ns(config: &MemoryConfig, blocks: u64, is_expected: bool, access: Access) -> f64 {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let mut rng = Seed(1).stream("cost");
    let accesses: Vec<(u16, Block)> = (0..ACCESSES).map(|_| draw(&mut rng, config.cores, blocks)).collect();
    let mut now_ps = 0;
    let mut best = f64::INFINITY;
    // The first rounds fill the caches.
    for _ in 0..ROUNDS + 10 {
        let begin = Instant::now();
        for run in accesses.chunks(8) {
            if is_expected {
                run.iter().for_each(|&(_, block)| memory.expect(block, 1));
            }
            for &(core, block) in run {
                now_ps += 4_000;
                std::hint::black_box(access(&mut memory, now_ps, core, block));
            }
        }
        best = best.min(begin.elapsed().as_secs_f64() * 1e9 / ACCESSES as f64);
    }
    best
}

/// A core and a block; each core has its own blocks, as each has its own share of a working set.
fn draw(rng: &mut Rng, cores: u16, blocks: u64) -> (u16, Block) {
    let core = u16::try_from(rng.below(cores.into())).expect("below a u16");
    let block = rng.below(blocks) / u64::from(cores) * u64::from(cores) + u64::from(core);
    (core, Block(u32::try_from(block).expect("below 2^32")))
}
