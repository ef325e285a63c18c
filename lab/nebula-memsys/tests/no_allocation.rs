//! Construction is the last allocation.

use machines::paper;
use nebula_memsys::{Block, Label, MemorySystem};
use nebula_testing::allocations::{Counting, made_by};
use nebula_workload::Seed;

mod machines;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

#[test]
fn a_million_accesses_allocate_nothing() {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    let mut rng = Seed(1).stream("ops");
    let count = made_by(|| {
        for step in 0..1_000_000_u32 {
            let (now_ps, core) = (u64::from(step) * 1_000, u16::try_from(step % 16).expect("a core"));
            let block = Block(u32::try_from(rng.below(1 << 22)).expect("22 bits"));
            match step % 6 {
                0 => memory.store(now_ps, core, block, Label(0)),
                1 => memory.overwrite(now_ps, core, block, Label(0)),
                2 => memory.nic_write(now_ps, block, Label(0)),
                3 => memory.nic_read(now_ps, block, Label(0)),
                4 => memory.stream(now_ps, block, Label(0), step % 12 == 4),
                _ => memory.load(now_ps, core, block, Label(0)),
            };
        }
    });
    assert_eq!(count, 0);
    assert!(memory.counters().dram.full_batches > 100, "the run must fill write queues");
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(made_by(|| drop(std::hint::black_box(Box::new(1)))), 1);
}
