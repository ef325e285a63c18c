//! An access that may not go to memory: the same if the block is on the chip, no effect otherwise.

use crate::machines::paper;
use nebula_memsys::{Block, Counters, Done, Label, MemoryConfig, MemorySystem, Needs, Reach};
use nebula_workload::Seed;

/// A history in which every access is first tried on the chip, if `is_tried`, and made in full if
/// that returns `None`.
fn history(config: &MemoryConfig, is_tried: bool) -> (Vec<Done>, Counters, u64) {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let mut rng = Seed(12).stream("ops");
    let mut refused = 0;
    let answers = (0..100_000_u64).map(|step| {
        let now_ps = step * 2_000;
        let block = Block(u32::try_from(rng.below(60_000)).expect("a small number"));
        let (core, label) = (u16::try_from(rng.below(16)).expect("a small number"), Label(1));
        let access = rng.below(4);
        let mut within = |reach| match access {
            0 => memory.write_within(now_ps, core, block, label, Needs::Data, reach),
            1 => memory.nic_write_within(now_ps, block, label, reach),
            2 => memory.write_within(now_ps, core, block, label, Needs::Ownership, reach),
            _ => memory.load_within(now_ps, core, block, label, reach),
        };
        let tried = if is_tried { within(Reach::OnChip) } else { None };
        refused += u64::from(is_tried && tried.is_none());
        tried.or_else(|| within(Reach::Anywhere)).expect("everything is somewhere")
    });
    let answers = answers.collect();
    (answers, memory.counters(), refused)
}

#[test]
fn a_try_is_the_access_itself_or_nothing() {
    let forwarding = paper();
    let mut writing_through = paper();
    writing_through.llc.nic_forwards = false;
    for config in [forwarding, writing_through] {
        let (plain, tried) = (history(&config, false), history(&config, true));
        assert_eq!((&plain.0, plain.1), (&tried.0, tried.1));
        assert!((20_000..80_000).contains(&tried.2), "some are on the chip, some are not: {} were not", tried.2);
    }
}
