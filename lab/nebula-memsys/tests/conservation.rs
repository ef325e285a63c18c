//! Traffic adds up.

use crate::machines::{paper, tiny};
use nebula_memsys::{Block, Cause, Counters, Label, MemoryConfig, MemorySystem, Traffic};
use nebula_workload::{Rng, Seed};

/// Loads, stores, NIC writes and NIC reads; `at_ps` gives the time of each step.
fn run(config: &MemoryConfig, blocks: u64, mut at_ps: impl FnMut(u64, &mut Rng) -> u64) -> MemorySystem {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let (mut rng, mut times) = (Seed(5).stream("ops"), Seed(5).stream("times"));
    for step in 0..400_000 {
        let now_ps = at_ps(step, &mut times);
        let core = u16::try_from(rng.below(config.cores.into())).expect("a core");
        let block = Block(u32::try_from(rng.below(blocks)).expect("32 bits"));
        let label = Label(u8::try_from(rng.below(8)).expect("a label"));
        match rng.below(6) {
            0 | 1 => memory.load(now_ps, core, block, label),
            2 => memory.store(now_ps, core, block, label),
            3 => memory.overwrite(now_ps, core, block, label),
            4 => memory.nic_write(now_ps, block, label),
            _ => memory.nic_read(now_ps, block, label),
        };
    }
    memory
}

fn in_order(step: u64, _: &mut Rng) -> u64 {
    step * 4_000
}

fn assert_adds_up(counters: Counters, traffic: Traffic) {
    assert_eq!(traffic.of_cause(Cause::CoreFetch), counters.cores.dram, "each miss of a core fetches once");
    assert_eq!(traffic.of_cause(Cause::NicFetch), counters.nic.dram, "each miss of the NIC fetches once");
    let fetched = traffic.of_cause(Cause::CoreFetch) + traffic.of_cause(Cause::NicFetch);
    let written = traffic.of_cause(Cause::CoreWriteBack) + traffic.of_cause(Cause::NicWriteBack);
    assert_eq!((counters.dram.reads, counters.dram.writes), (fetched, written), "memory sees what the caches count");
    let met = counters.dram.row_hits + counters.dram.row_closed + counters.dram.row_conflicts;
    assert!(met <= fetched + written && met + 2 * 48 >= fetched + written, "only full write queues are still waiting");
    assert_eq!(counters.cores.total() + counters.nic.total(), 400_000, "each access counts once");
    let by_label: u64 = (0..8).map(|label| traffic.of_label(Label(label))).sum();
    let by_cause: u64 = Cause::ALL.map(|cause| traffic.of_cause(cause)).iter().sum();
    assert_eq!((by_label, by_cause), (traffic.total(), traffic.total()));
}

#[test]
fn every_miss_fetches_once_and_every_write_back_reaches_memory() {
    for (config, blocks) in [(paper(), 2_000_000), (tiny(), 300)] {
        let memory = run(&config, blocks, in_order);
        assert_adds_up(memory.counters(), memory.traffic());
    }
}

#[test]
fn every_dirty_block_is_written_back_once_or_is_still_dirty() {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    let blocks = 1_000_000_u32;
    for block in 0..blocks {
        let now_ps = u64::from(block) * 4_000;
        match block % 4 {
            0 => memory.nic_write(now_ps, Block(block), Label(1)),
            1 => memory.store(now_ps, 3, Block(block), Label(2)),
            2 => memory.overwrite(now_ps, 4, Block(block), Label(3)),
            _ => memory.load(now_ps, 5, Block(block), Label(4)),
        };
    }
    let (traffic, (nic, cores)) = (memory.traffic(), memory.dirty_blocks());
    assert_eq!(traffic.blocks(Label(1), Cause::NicWriteBack) + nic, u64::from(blocks / 4));
    assert_eq!(traffic.of_cause(Cause::NicWriteBack) + nic, u64::from(blocks / 4));
    assert_eq!(traffic.of_cause(Cause::CoreWriteBack) + cores, u64::from(blocks / 2));
    assert_eq!(traffic.of_label(Label(4)), u64::from(blocks / 4), "what was only read is not written");
}

#[test]
fn the_order_of_calls_alone_decides_what_moves() {
    let steady = run(&paper(), 500_000, in_order);
    let jittery = run(&paper(), 500_000, |step, times| 50_000 + step * 4_000 - times.below(50_000));
    let at_once = run(&paper(), 500_000, |_, _| 0);
    for other in [jittery, at_once] {
        assert_eq!(other.traffic(), steady.traffic());
        assert_eq!(other.dirty_blocks(), steady.dirty_blocks());
        assert_eq!((other.counters().cores, other.counters().nic), (steady.counters().cores, steady.counters().nic));
    }
}

#[test]
fn calls_fifty_nanoseconds_out_of_order_hardly_change_the_mean() {
    let mean_ps = |jitter_ps| {
        let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
        let (mut rng, mut times) = (Seed(9).stream("ops"), Seed(9).stream("times"));
        let mut waited_ps = 0;
        for step in 0..200_000_u64 {
            let now_ps = 50_000 + step * 4_000 - times.below(jitter_ps);
            let block = Block(u32::try_from(rng.below(1 << 24)).expect("24 bits"));
            waited_ps += memory.load(now_ps, u16::try_from(step % 16).expect("a core"), block, Label(0)).at_ps - now_ps;
        }
        waited_ps as f64 / 200_000.0
    };
    let (steady, jittery) = (mean_ps(1), mean_ps(50_000));
    assert!((jittery / steady - 1.0).abs() < 0.03, "{jittery} and {steady} ps");
}

#[test]
fn traffic_of_two_readings_subtracts() {
    let mut memory = MemorySystem::try_new(&tiny()).expect("a valid machine");
    memory.load(0, 0, Block(1), Label(2));
    let before = memory.traffic();
    memory.stream(0, Block(9), Label(3), true);
    let moved = memory.traffic() - before;
    assert_eq!((moved.total(), moved.blocks(Label(3), Cause::Stream), moved.bytes()), (1, 1, 64));
    assert_eq!(before + moved, memory.traffic());
}
