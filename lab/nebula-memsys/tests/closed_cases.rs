//! Access patterns whose hit ratios are known without a model.

use crate::machines::paper;
use nebula_memsys::{Block, Label, MemoryConfig, MemorySystem};
use nebula_workload::Seed;

/// Blocks that the last-level cache of the paper's machine holds.
const CAPACITY: u32 = (16 << 20) / 64;

fn memory(config: &MemoryConfig) -> MemorySystem {
    MemorySystem::try_new(config).expect("a valid machine")
}

/// Share of a sweep's loads that were served without memory.
fn hits_of_sweep(memory: &mut MemorySystem, blocks: u32) -> f64 {
    let before = memory.counters().cores;
    for block in 0..blocks {
        memory.load(u64::from(block) * 20_000, 0, Block(block), Label(0));
    }
    let after = memory.counters().cores;
    1.0 - (after.dram - before.dram) as f64 / f64::from(blocks)
}

#[test]
fn what_fits_stays() {
    let mut memory = memory(&paper());
    assert_eq!(hits_of_sweep(&mut memory, CAPACITY), 0.0);
    assert_eq!(hits_of_sweep(&mut memory, CAPACITY), 1.0);
}

#[test]
fn a_sweep_over_twice_the_capacity_never_hits() {
    let mut memory = memory(&paper());
    for _ in 0..3 {
        assert_eq!(hits_of_sweep(&mut memory, 2 * CAPACITY), 0.0);
    }
}

#[test]
fn random_blocks_over_n_times_the_capacity_hit_once_in_n() {
    for n in [2, 4, 9] {
        let mut memory = memory(&paper());
        let mut rng = Seed(n).stream("blocks");
        let accesses = 1_500_000;
        let mut warm = memory.counters().cores;
        for access in 0..accesses * 2 {
            if access == accesses {
                warm = memory.counters().cores;
            }
            let block = Block(u32::try_from(rng.below(n * u64::from(CAPACITY))).expect("32 bits"));
            memory.load(access * 20_000, 0, block, Label(0));
        }
        let missed = (memory.counters().cores.dram - warm.dram) as f64 / accesses as f64;
        assert!((1.0 - missed - 1.0 / n as f64).abs() < 0.002, "{n} times the capacity: {missed} missed");
    }
}

/// Share of a second round of NIC writes over `blocks` that had to fetch.
fn nic_misses(config: &MemoryConfig, blocks: u32) -> f64 {
    let mut memory = memory(config);
    for round in 0..2 {
        let before = memory.counters().nic;
        for block in 0..blocks {
            memory.nic_write(u64::from(block) * 20_000, Block(block), Label(0));
        }
        if round == 1 {
            return (memory.counters().nic.dram - before.dram) as f64 / f64::from(blocks);
        }
    }
    unreachable!("the second round returns")
}

#[test]
fn the_nic_keeps_the_share_of_its_ways() {
    let mut config = paper();
    for nic_ways in [2, 8, 16] {
        config.llc.nic_ways = Some(nic_ways);
        let share = CAPACITY / 16 * nic_ways;
        assert_eq!(nic_misses(&config, share), 0.0, "{nic_ways} ways");
        assert_eq!(nic_misses(&config, 2 * share), 1.0, "{nic_ways} ways");
    }
}

#[test]
fn a_small_buffer_stays_while_cores_stream_past_a_large_one_does_not() {
    let mut memory = memory(&paper());
    let mut rng = Seed(7).stream("blocks");
    for (buffer_blocks, least, most) in [(1280, 0.99, 1.0), (2_000_000, 0.0, 0.2)] {
        let before = memory.counters().nic;
        for access in 0..400_000_u32 {
            let streamed = Block(3_000_000 + u32::try_from(rng.below(13_000_000)).expect("32 bits"));
            memory.load(u64::from(access) * 9_000, 0, streamed, Label(0));
            memory.nic_write(u64::from(access) * 9_000, Block(access % buffer_blocks), Label(1));
        }
        let after = memory.counters().nic;
        let missed = (after.dram - before.dram) as f64 / 400_000.0;
        assert!((least..=most).contains(&(1.0 - missed)), "{buffer_blocks} blocks: {missed} missed");
    }
}
