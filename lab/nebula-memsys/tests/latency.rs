//! Without contention, an access takes the sum of its parts, to the picosecond.

use crate::machines::{ideal, paper};
use nebula_memsys::{Block, Done, DramConfig, Label, Level, MemoryConfig, MemorySystem};
use nebula_workload::Seed;

const LABEL: Label = Label(0);

fn memory(config: &MemoryConfig) -> MemorySystem {
    MemorySystem::try_new(config).expect("a valid machine")
}

/// The paper's machine without refresh; block `i < 16` has its home at tile `i`.
fn calm() -> MemoryConfig {
    let paper = paper();
    MemoryConfig { dram: DramConfig { refresh_ns: 0.0, ..paper.dram }, ..paper }
}

/// At 2 GHz.
const fn cycles(cycles: u64) -> u64 {
    cycles * 500
}

#[test]
fn an_l1_hit_takes_the_l1s_cycles() {
    let mut memory = memory(&calm());
    memory.load(0, 3, Block(5), LABEL);
    assert_eq!(memory.load(500_000, 3, Block(5), LABEL), Done { at_ps: 500_000 + cycles(3), level: Level::L1 });
}

#[test]
fn an_llc_hit_takes_l1_two_ways_the_bank_and_the_tail_of_the_block() {
    let mut memory = memory(&calm());
    for (tile, hops) in [(0, 0), (1, 1), (5, 2), (15, 6)] {
        memory.nic_write(0, Block(tile), LABEL);
        memory.load(1_000_000, 7, Block(tile), LABEL);
        let done = memory.load(2_000_000, 0, Block(tile), LABEL);
        let wanted = 3 + 3 * hops + 6 + 3 * hops + 4;
        assert_eq!(done, Done { at_ps: 2_000_000 + cycles(wanted), level: Level::Llc }, "{hops} hops");
    }
}

#[test]
fn the_first_touch_of_a_packet_is_served_by_the_nic() {
    let mut memory = memory(&calm());
    // Home at tile 15, the NIC at tile 0, the core at tile 3.
    memory.nic_write(0, Block(15), LABEL);
    let done = memory.load(1_000_000, 3, Block(15), LABEL);
    let (to_home, to_nic, to_core) = (3 * 3, 6 * 3, 3 * 3);
    let wanted = 3 + to_home + 6 + to_nic + 6 + to_core + 4;
    assert_eq!(done, Done { at_ps: 1_000_000 + cycles(wanted), level: Level::Nic });
}

#[test]
fn a_nic_that_does_not_forward_leaves_packets_to_the_bank() {
    let mut config = calm();
    config.llc.nic_forwards = false;
    let mut memory = memory(&config);
    memory.nic_write(0, Block(15), LABEL);
    let done = memory.load(1_000_000, 3, Block(15), LABEL);
    assert_eq!(done, Done { at_ps: 1_000_000 + cycles(3 + 9 + 6 + 9 + 4), level: Level::Llc });
}

#[test]
fn a_miss_adds_memory_and_the_way_to_it() {
    let mut memory = memory(&calm());
    let (llc, path_ps) = (cycles(3 + 6 + 4), 7_500);
    let closed = memory.load(0, 0, Block(0), LABEL);
    assert_eq!(closed, Done { at_ps: llc + path_ps + 45_000, level: Level::Dram });
    // The same home, row and channel.
    let hit = memory.load(1_000_000, 0, Block(16), LABEL);
    assert_eq!(hit.at_ps - 1_000_000, llc + path_ps + 31_000);
    assert_eq!(memory.counters().dram.row_hits, 1);
}

#[test]
fn another_row_of_a_bank_costs_a_precharge_more() {
    let mut config = calm();
    (config.dram.channels, config.dram.ranks, config.dram.banks) = (1, 1, 1);
    let mut memory = memory(&config);
    memory.stream(0, Block(0), LABEL, false);
    let conflict = memory.stream(1_000_000, Block(128), LABEL, false);
    assert_eq!(conflict.at_ps - 1_000_000, 7_500 + 59_000);
    config.dram.row_idle_ns = Some(100.0);
    let mut memory = self::memory(&config);
    memory.stream(0, Block(0), LABEL, false);
    let closed = memory.stream(1_000_000, Block(128), LABEL, false);
    assert_eq!(closed.at_ps - 1_000_000, 7_500 + 45_000);
}

#[test]
fn a_store_to_an_owned_block_is_an_l1_hit_and_one_to_a_shared_block_invalidates() {
    let mut memory = memory(&calm());
    memory.load(0, 0, Block(0), LABEL);
    assert_eq!(memory.store(1_000_000, 0, Block(0), LABEL), Done { at_ps: 1_000_000 + cycles(3), level: Level::L1 });
    // The copy of core 15, six hops away, must be invalidated: home, holder, writer.
    memory.load(2_000_000, 15, Block(0), LABEL);
    let done = memory.store(3_000_000, 0, Block(0), LABEL);
    assert_eq!(done.level, Level::Llc);
    assert!(done.at_ps - 3_000_000 >= cycles(3 + 6 + 18 + 3 + 18), "{}", done.at_ps);
    assert_eq!(memory.counters().invalidated, 1);
    assert_eq!(memory.load(4_000_000, 15, Block(0), LABEL).level, Level::Llc);
}

#[test]
fn a_core_that_overwrites_a_packet_waits_until_the_nic_dropped_it() {
    let mut memory = memory(&calm());
    // Home at tile 15, the NIC at tile 0, the core at tile 3.
    memory.nic_write(0, Block(15), LABEL);
    let done = memory.overwrite(1_000_000, 3, Block(15), LABEL);
    assert_eq!(done, Done { at_ps: 1_000_000 + cycles(3 + 9 + 6 + 18 + 9), level: Level::Nic });
    assert_eq!(memory.load(2_000_000, 3, Block(15), LABEL).level, Level::L1);
}

#[test]
fn a_full_block_write_needs_no_memory_and_a_partial_one_does() {
    let mut memory = memory(&calm());
    assert_eq!(memory.overwrite(0, 0, Block(0), LABEL).level, Level::Llc);
    assert_eq!(memory.store(1_000_000, 0, Block(1), LABEL).level, Level::Dram);
    assert_eq!((memory.counters().dram.reads, memory.counters().unfetched), (1, 1));
    assert_eq!(memory.dirty_blocks(), (0, 2));
}

/// When core 2 has a packet whose read meets that of another packet in the NIC's cache.
fn second_packet_ps(nic_cache_busy_cycles: u32) -> u64 {
    let mut config = calm();
    config.llc.nic_cache_busy_cycles = nic_cache_busy_cycles;
    let mut memory = memory(&config);
    memory.nic_write(0, Block(15), LABEL);
    memory.nic_write(0, Block(14), LABEL);
    memory.load(1_000_000, 3, Block(15), LABEL);
    memory.load(1_000_000, 2, Block(14), LABEL).at_ps
}

#[test]
fn a_nic_cache_that_is_busy_makes_the_next_packet_wait() {
    // It comes 33 cycles after the load, and the other one is read from the 36th cycle to the 40th.
    assert_eq!(second_packet_ps(8) - second_packet_ps(0), cycles(40 - 33));
}

/// When core 2 has a block from tile 1 that meets another one on the way from tile 1 to tile 2.
fn second_block_ps(links_contend: bool) -> u64 {
    let mut config = calm();
    config.mesh.links_contend = links_contend;
    let mut memory = memory(&config);
    for block in [Block(0), Block(1)] {
        memory.nic_write(0, block, LABEL);
        memory.load(1_000_000, 7, block, LABEL);
    }
    memory.load(2_000_000, 3, Block(0), LABEL);
    memory.load(2_000_000 + cycles(9), 2, Block(1), LABEL).at_ps
}

#[test]
fn blocks_wait_for_a_link_that_another_block_occupies() {
    // Both come to the link in its slot from cycle 20 to 25: the second one leaves with the next.
    assert_eq!(second_block_ps(true) - second_block_ps(false), cycles(25 - 21));
}

#[test]
fn without_others_links_that_contend_take_no_longer() {
    let mut config = calm();
    config.mesh.links_contend = true;
    let mut memory = memory(&config);
    for (tile, hops) in [(0, 0), (3, 3), (12, 3), (15, 6)] {
        memory.nic_write(0, Block(tile), LABEL);
        memory.load(1_000_000, 7, Block(tile), LABEL);
        let done = memory.load(2_000_000 + u64::from(tile) * 100_000, 0, Block(tile), LABEL);
        assert_eq!(done.at_ps, 2_000_000 + u64::from(tile) * 100_000 + cycles(3 + 6 * hops + 6 + 4), "tile {tile}");
    }
}

#[test]
fn on_an_ideal_machine_nothing_takes_time() {
    let mut memory = memory(&ideal());
    let mut rng = Seed(1).stream("ops");
    for step in 0..300_000_u64 {
        let now_ps = step * 7;
        let block = Block(u32::try_from(rng.below(1 << 20)).expect("20 bits"));
        let core = u16::try_from(rng.below(16)).expect("a core");
        let done = match rng.below(7) {
            0 => memory.load(now_ps, core, block, LABEL),
            1 => memory.store(now_ps, core, block, LABEL),
            2 => memory.overwrite(now_ps, core, block, LABEL),
            3 => memory.nic_write(now_ps, block, LABEL),
            4 => memory.nic_read(now_ps, block, LABEL),
            5 => memory.stream(now_ps, block, LABEL, true),
            _ => memory.stream(now_ps, block, LABEL, false),
        };
        assert_eq!(done.at_ps, now_ps, "step {step}");
    }
}
