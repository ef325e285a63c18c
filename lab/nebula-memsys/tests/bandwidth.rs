//! The bandwidth of memory and links: what their numbers give, and never more.

use crate::machines::{ddr4, load, paper, with_ports};
use nebula_memsys::{Block, DramConfig, Label, LlcConfig, MemoryConfig, MemorySystem};
use nebula_workload::Seed;

const LABEL: Label = Label(0);

fn with_dram(dram: DramConfig) -> MemoryConfig {
    MemoryConfig { dram, ..paper() }
}

/// One channel without refresh, at no distance.
fn one_channel() -> DramConfig {
    DramConfig { channels: 1, path_ns: 0.0, refresh_ns: 0.0, ..ddr4() }
}

/// GB/s of `blocks` reads requested at once.
fn read_rate(dram: DramConfig, blocks: impl Iterator<Item = u32>) -> f64 {
    let mut memory = MemorySystem::try_new(&with_dram(dram)).expect("a valid machine");
    let last_ps = blocks.map(|block| memory.stream(0, Block(block), LABEL, false).at_ps).max().expect("a block");
    memory.traffic().bytes() as f64 / last_ps as f64 * 1000.0
}

fn assert_near(got: f64, wanted: f64, what: &str) {
    assert!((got / wanted - 1.0).abs() < 0.02, "{what}: got {got}, expected {wanted}");
}

#[test]
fn an_open_row_gives_the_rate_of_the_bus() {
    let dram = DramConfig { row_bytes: 1 << 20, ..one_channel() };
    assert_near(read_rate(dram, 0..16_000), 15.5, "one row");
}

#[test]
fn one_bank_with_a_row_for_each_read_gives_one_block_a_row_cycle() {
    let dram = DramConfig { ranks: 1, banks: 1, ..one_channel() };
    // tRAS and tRP: 33 + 14 ns.
    assert_near(read_rate(dram, (0..4000).map(|row| row * 128)), 64.0 / 47.0, "one bank");
}

#[test]
fn two_banks_give_twice_as_much() {
    let dram = DramConfig { ranks: 1, banks: 2, ..one_channel() };
    assert_near(read_rate(dram, (0..4000).map(|row| row * 128)), 2.0 * 64.0 / 47.0, "two banks");
}

#[test]
fn all_banks_give_the_rate_of_the_bus() {
    let mut rng = Seed(3).stream("blocks");
    let blocks: Vec<u32> = (0..40_000).map(|_| u32::try_from(rng.below(1 << 24)).expect("24 bits")).collect();
    assert_near(read_rate(one_channel(), blocks.iter().copied()), 15.5, "one channel");
    let six = DramConfig { channels: 6, ..one_channel() };
    assert_near(read_rate(six, blocks.iter().copied()), 6.0 * 15.5, "six channels");
}

#[test]
fn a_sweep_gives_the_rate_of_all_buses() {
    assert_near(read_rate(DramConfig { channels: 2, ..one_channel() }, 0..40_000), 31.0, "two channels");
}

#[test]
fn refresh_takes_its_share() {
    let dram = DramConfig { ranks: 1, banks: 1, refresh_ns: 3500.0, refresh_interval_ns: 7000.0, ..one_channel() };
    // Half of the time is left to one bank.
    let rate = read_rate(dram, (0..40_000).map(|row| row * 128));
    assert!((0.49..0.53).contains(&(rate / (64.0 / 47.0))), "{rate} GB/s");
}

#[test]
fn no_mix_of_reads_and_writes_moves_more_than_the_buses_can() {
    for write_share in 0..=8 {
        let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
        let mut rng = Seed(write_share).stream("blocks");
        let mut last_ps = 0;
        for _ in 0..100_000 {
            let block = Block(u32::try_from(rng.below(1 << 22)).expect("22 bits"));
            let is_write = rng.below(8) < write_share;
            last_ps = last_ps.max(memory.stream(0, block, LABEL, is_write).at_ps);
        }
        // Up to two full queues of writes may still be waiting.
        let moved = (memory.traffic().total() - 2 * 48) * 64;
        let rate = moved as f64 / last_ps as f64 * 1000.0;
        assert!((25.0..=31.0).contains(&rate), "{write_share}/8 writes: {rate} GB/s");
    }
}

#[test]
fn a_writer_that_waits_for_room_gets_the_rate_of_its_batches() {
    let mut memory = MemorySystem::try_new(&with_dram(one_channel())).expect("a valid machine");
    let mut now_ps = 0;
    for block in 0..40_000 {
        now_ps = memory.stream(now_ps, Block(block), LABEL, true).at_ps;
    }
    let rate = memory.traffic().bytes() as f64 / now_ps as f64 * 1000.0;
    // Sixteen writes and two turns of 4 ns, rounded up to two bursts.
    assert_near(rate, 15.5 * 16.0 / 18.0, "writes");
}

#[test]
fn latency_is_low_up_to_two_thirds_of_peak_and_collapses_before_peak() {
    let config = with_dram(DramConfig { path_ns: 0.0, row_idle_ns: Some(0.0), ..ddr4() });
    let mean_ns = |gb_per_s| load::random_blocks(&config, gb_per_s, 300_000).mean_ns;
    // 45 ns, and 350 ns of refresh in 7.8 µs: half of it for one access in 22.
    let alone = 45.0 + 350.0 / 2.0 * 350.0 / 7800.0;
    assert!((mean_ns(0.1) - alone).abs() < 0.7, "{}", mean_ns(0.1));
    assert!(mean_ns(10.0) < alone + 7.0, "{}", mean_ns(10.0));
    assert!(mean_ns(21.0) < alone + 15.0, "{}", mean_ns(21.0));
    assert!((80.0..130.0).contains(&mean_ns(27.0)), "{}", mean_ns(27.0));
    let beyond = load::random_blocks(&config, 33.0, 300_000);
    assert!(beyond.mean_ns > 2000.0 && beyond.p99_ns > 4000.0, "{} and {}", beyond.mean_ns, beyond.p99_ns);
    assert!((28.0..31.0).contains(&beyond.achieved_gb_per_s), "{}", beyond.achieved_gb_per_s);
}

#[test]
fn a_link_moves_one_block_a_head_and_four_flits() {
    let config = paper();
    let mut memory = MemorySystem::try_new(&config).expect("a valid machine");
    let blocks = 4096;
    for block in 0..blocks {
        memory.nic_write(u64::from(block) * 20_000, Block(block), LABEL);
    }
    // Sixteen cores request at once what only the NIC's cache has: its one link is the bottleneck.
    let asked_ps = u64::from(blocks) * 20_000 + 100_000;
    let loads = (0..blocks).zip((0..16).cycle());
    let loads = loads.map(|(block, core)| memory.load(asked_ps, core, Block(block), LABEL).at_ps);
    let took_ps = loads.max().expect("a block") - asked_ps;
    assert_near(took_ps as f64, f64::from(blocks) * 2500.0, "five flits at 2 GHz a block");
}

#[test]
fn a_cores_own_port_bounds_what_all_banks_send_it_where_ports_contend() {
    assert_near(core_takes_ps(&with_ports(), 4096) as f64, 4096.0 * 2500.0, "five flits at 2 GHz a block");
}

#[test]
fn what_all_banks_send_a_core_waits_for_nothing_where_ports_do_not_contend() {
    // A block a corner away, at most: L1, six hops, bank, six hops, four more flits.
    assert_eq!(core_takes_ps(&paper(), 4096), (3 + 18 + 6 + 18 + 4) * 500);
}

/// How long it takes until a core has all of `blocks` blocks of the last-level cache for which it
/// asks at once.
fn core_takes_ps(config: &MemoryConfig, blocks: u32) -> u64 {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    for block in 0..blocks {
        memory.load(u64::from(block) * 20_000, 1, Block(block), LABEL);
    }
    let asked_ps = u64::from(blocks) * 20_000 + 100_000;
    let last_ps = (0..blocks).map(|block| memory.load(asked_ps, 0, Block(block), LABEL).at_ps).max();
    last_ps.expect("a block") - asked_ps
}

#[test]
fn what_cores_store_fills_the_port_of_the_home_bank_where_ports_contend() {
    let written_ps = |config: MemoryConfig, stores: u32| {
        let llc = LlcConfig { nic_forwards: false, ..config.llc };
        let mut memory = MemorySystem::try_new(&MemoryConfig { llc, ..config }).expect("a valid machine");
        memory.nic_write(0, Block(0), LABEL);
        for store in 0..stores {
            // Homes are interleaved over sixteen tiles: all of these blocks are at the first.
            memory.overwrite(1_000_000, u16::try_from(store % 16).expect("a core"), Block(16 + store * 16), LABEL);
        }
        memory.nic_write(1_060_000, Block(0), LABEL).at_ps
    };
    let wait_ps = written_ps(with_ports(), 200) - written_ps(with_ports(), 0);
    assert!((400_000..=500_000).contains(&wait_ps), "200 blocks of 2.5 ns: {wait_ps} ps");
    assert_eq!(written_ps(paper(), 200), written_ps(paper(), 0));
}
