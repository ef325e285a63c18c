//! The same calls give the same results, and readings change nothing.

use crate::machines::paper;
use nebula_memsys::{Block, Counters, Done, Label, MemorySystem};
use nebula_workload::Seed;

fn history(is_probed: bool) -> (Vec<Done>, Counters) {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    let mut rng = Seed(11).stream("ops");
    let answers = (0..100_000_u64).map(|step| {
        let now_ps = step * 2_000;
        let block = Block(u32::try_from(rng.below(400_000)).expect("a small number"));
        if is_probed {
            memory.expect(block, 1);
            let _ = (memory.is_on_chip(block), memory.traffic(), memory.counters());
        }
        match rng.below(4) {
            0 => memory.store(now_ps, 1, block, Label(0)),
            1 => memory.nic_write(now_ps, block, Label(1)),
            2 => memory.stream(now_ps, block, Label(2), true),
            _ => memory.load(now_ps, 2, block, Label(3)),
        }
    });
    let answers = answers.collect();
    (answers, memory.counters())
}

#[test]
fn two_runs_give_equal_results_and_probes_change_nothing() {
    let first = history(false);
    assert_eq!(first, history(false));
    assert_eq!(first, history(true));
}

#[test]
fn a_probe_says_whether_memory_is_needed() {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    assert!(!memory.is_on_chip(Block(3)));
    memory.nic_read(0, Block(3), Label(0));
    assert!(!memory.is_on_chip(Block(3)), "the NIC's reads allocate nothing");
    memory.load(0, 0, Block(3), Label(0));
    assert!(memory.is_on_chip(Block(3)));
}

#[test]
#[should_panic(expected = "a label is below LABELS")]
fn a_label_past_the_last_is_a_bug() {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    memory.load(0, 0, Block(0), Label(8));
}
