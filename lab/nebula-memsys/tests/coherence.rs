//! A core never hits in its L1 on a block that another agent has written since the core read it.

use crate::machines::paper;
use nebula_memsys::{Block, Done, Label, Level, MemoryConfig, MemorySystem};
use nebula_workload::Seed;
use std::collections::BTreeMap;

const CORES: u16 = 16;

/// Versions: the current one of each block, and the last one that each core saw.
#[derive(Default)]
struct Versions {
    written: BTreeMap<u32, u64>,
    seen: BTreeMap<(u16, u32), u64>,
}

impl Versions {
    fn write(&mut self, block: u32, writer: Option<u16>) {
        let version = self.written.entry(block).or_insert(0);
        *version += 1;
        if let Some(core) = writer {
            self.seen.insert((core, block), *version);
        }
    }

    fn read(&mut self, core: u16, block: u32, done: Done) {
        let version = self.written.get(&block).copied().unwrap_or(0);
        let seen = self.seen.insert((core, block), version);
        if done.level == Level::L1 {
            assert_eq!(seen, Some(version), "core {core} hit on an old copy of block {block}");
        }
    }
}

fn hits_of(config: &MemoryConfig, blocks: u64, seed: u64) -> u64 {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let mut versions = Versions::default();
    let mut rng = Seed(seed).stream("sharing");
    for step in 0..200_000_u64 {
        let block = u32::try_from(rng.below(blocks)).expect("a small number");
        let core = u16::try_from(rng.below(CORES.into())).expect("a core");
        let now_ps = step * 3_000;
        match rng.below(12) {
            0 => {
                memory.store(now_ps, core, Block(block), Label(0));
                versions.write(block, Some(core));
            }
            1 => {
                memory.overwrite(now_ps, core, Block(block), Label(0));
                versions.write(block, Some(core));
            }
            2 => {
                memory.nic_write(now_ps, Block(block), Label(0));
                versions.write(block, None);
            }
            _ => versions.read(core, block, memory.load(now_ps, core, Block(block), Label(0))),
        }
    }
    memory.counters().cores.l1
}

#[test]
fn old_copies_are_never_hit() {
    for seed in 0..5 {
        for blocks in [8, 64, 2000] {
            assert!(hits_of(&paper(), blocks, seed) > 1000, "some accesses must hit");
        }
    }
}

#[test]
fn old_copies_are_never_hit_where_blocks_leave_the_chip() {
    let mut config = paper();
    config.llc.bytes = 64 * 16 * 64;
    for seed in 0..5 {
        assert!(hits_of(&config, 2000, seed) > 1000, "some accesses must hit");
    }
}
