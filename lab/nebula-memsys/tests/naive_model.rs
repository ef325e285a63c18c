//! Caches and directory compared with a model of plain lists with the time of each line's last use.

use crate::machines::tiny;
use nebula_memsys::{Block, Cause, Label, Level, LlcConfig, MemoryConfig, MemorySystem, Traffic};
use nebula_workload::{Rng, Seed};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Load,
    Prefetch,
    Store,
    Overwrite,
    NicWrite,
    NicRead,
}

const OPS: [Op; 6] = [Op::Load, Op::Prefetch, Op::Store, Op::Overwrite, Op::NicWrite, Op::NicRead];

#[derive(Clone, Default)]
struct Line {
    block: Option<u32>,
    used: i64,
    dirty: Option<(bool, Label)>,
    is_nics: bool,
    /// Cores that may have a copy.
    sharers: BTreeSet<u16>,
}

struct Model {
    llc: Vec<Vec<Line>>,
    /// `[core][set]`, blocks with the time of their last use.
    l1s: Vec<Vec<Vec<(u32, i64)>>>,
    nic_ways: usize,
    nic_write_fetches: bool,
    nic_forwards: bool,
    l1_ways: usize,
    traffic: Traffic,
    clock: i64,
}

fn sets(bytes: u64, ways: u32) -> usize {
    usize::try_from(bytes / 64 / u64::from(ways)).expect("a small cache")
}

impl Model {
    fn new(config: &MemoryConfig) -> Self {
        let ways = i64::from(config.llc.ways);
        let set: Vec<Line> = (0..ways).map(|way| Line { used: -way, ..Line::default() }).collect();
        let llc_sets = sets(config.llc.bytes, config.llc.ways);
        let l1_sets = sets(config.l1.bytes, config.l1.ways);
        Self {
            llc: vec![set; llc_sets],
            l1s: vec![vec![Vec::new(); l1_sets]; usize::from(config.cores)],
            nic_ways: config.llc.nic_ways.unwrap_or(config.llc.ways) as usize,
            nic_write_fetches: config.llc.nic_write_fetches,
            nic_forwards: config.llc.nic_forwards,
            l1_ways: config.l1.ways as usize,
            traffic: Traffic::default(),
            clock: 0,
        }
    }

    fn apply(&mut self, op: Op, core: u16, block: u32, label: Label) -> Level {
        self.clock += 1;
        match op {
            Op::Load | Op::Prefetch => self.load(core, block, label),
            Op::Store => self.store(core, block, label, true),
            Op::Overwrite => self.store(core, block, label, false),
            Op::NicWrite => self.nic_write(block, label),
            Op::NicRead => self.nic_read(block, label),
        }
    }

    fn load(&mut self, core: u16, block: u32, label: Label) -> Level {
        if self.touch_l1(core, block) {
            return Level::L1;
        }
        let level = self.bring(block, self.llc[0].len(), Some((label, Cause::CoreFetch)));
        let only = self.line(block).sharers.iter().copied().collect::<Vec<_>>();
        if let [other] = only[..]
            && !self.l1(other, block).iter().any(|&(held, _)| held == block)
        {
            self.line(block).sharers.clear();
        }
        self.line(block).is_nics = false;
        self.line(block).sharers.insert(core);
        self.fill_l1(core, block);
        level
    }

    fn store(&mut self, core: u16, block: u32, label: Label, is_part: bool) -> Level {
        let has_copy = self.touch_l1(core, block);
        let mut level = self.bring(block, self.llc[0].len(), is_part.then_some((label, Cause::CoreFetch)));
        if has_copy && self.line(block).sharers == BTreeSet::from([core]) {
            level = Level::L1;
        }
        self.drop_copies(block, Some(core));
        if !has_copy {
            self.fill_l1(core, block);
        }
        let line = self.line(block);
        (line.dirty, line.is_nics, line.sharers) = (Some((false, label)), false, BTreeSet::from([core]));
        level
    }

    fn nic_write(&mut self, block: u32, label: Label) -> Level {
        let fetch = self.nic_write_fetches.then_some((label, Cause::NicFetch));
        let level = self.bring(block, self.nic_ways, fetch);
        self.drop_copies(block, None);
        let is_nics = self.nic_forwards;
        let line = self.line(block);
        (line.dirty, line.is_nics, line.sharers) = (Some((true, label)), is_nics, BTreeSet::new());
        level
    }

    fn nic_read(&mut self, block: u32, label: Label) -> Level {
        if self.find(block).is_none() {
            self.traffic.add(label, Cause::NicFetch, 1);
            return Level::Dram;
        }
        self.bring(block, 0, None)
    }

    /// Uses the line of `block`; if absent, allocates it in one of the first `ways`.
    fn bring(&mut self, block: u32, ways: usize, fetch: Option<(Label, Cause)>) -> Level {
        if self.find(block).is_some() {
            self.line(block).used = self.clock;
            return if self.line(block).is_nics { Level::Nic } else { Level::Llc };
        }
        let set = block as usize % self.llc.len();
        let way = (0..ways).min_by_key(|&way| self.llc[set][way].used).expect("a way");
        let victim = std::mem::replace(
            &mut self.llc[set][way],
            Line { block: Some(block), used: self.clock, ..Line::default() },
        );
        if let Some(gone) = victim.block {
            self.drop_copies_of(gone, &victim.sharers, None);
        }
        if let Some((is_nics, label)) = victim.dirty {
            self.traffic.add(label, if is_nics { Cause::NicWriteBack } else { Cause::CoreWriteBack }, 1);
        }
        let Some((label, cause)) = fetch else { return Level::Llc };
        self.traffic.add(label, cause, 1);
        Level::Dram
    }

    fn find(&self, block: u32) -> Option<&Line> {
        self.llc[block as usize % self.llc.len()].iter().find(|line| line.block == Some(block))
    }

    fn line(&mut self, block: u32) -> &mut Line {
        let set = block as usize % self.llc.len();
        self.llc[set].iter_mut().find(|line| line.block == Some(block)).expect("it was inserted")
    }

    fn l1(&mut self, core: u16, block: u32) -> &mut Vec<(u32, i64)> {
        let sets = &mut self.l1s[usize::from(core)];
        let at = block as usize % sets.len();
        &mut sets[at]
    }

    fn touch_l1(&mut self, core: u16, block: u32) -> bool {
        let clock = self.clock;
        let copy = self.l1(core, block).iter_mut().find(|(held, _)| *held == block);
        copy.map(|(_, used)| *used = clock).is_some()
    }

    fn fill_l1(&mut self, core: u16, block: u32) {
        let (clock, ways) = (self.clock, self.l1_ways);
        let set = self.l1(core, block);
        if set.len() == ways {
            let oldest = (0..ways).min_by_key(|&at| set[at].1).expect("a way");
            set.remove(oldest);
        }
        set.push((block, clock));
    }

    fn drop_copies(&mut self, block: u32, keeper: Option<u16>) {
        let sharers = self.line(block).sharers.clone();
        self.drop_copies_of(block, &sharers, keeper);
    }

    fn drop_copies_of(&mut self, block: u32, sharers: &BTreeSet<u16>, keeper: Option<u16>) {
        for &core in sharers.iter().filter(|&&core| Some(core) != keeper) {
            self.l1(core, block).retain(|&(held, _)| held != block);
        }
    }

    fn dirty_blocks(&self) -> (u64, u64) {
        let dirty = self.llc.iter().flatten().filter_map(|line| line.dirty);
        dirty.fold((0, 0), |(nic, cores), (is_nics, _)| (nic + u64::from(is_nics), cores + u64::from(!is_nics)))
    }
}

fn apply(memory: &mut MemorySystem, now_ps: u64, op: Op, core: u16, block: Block, label: Label) -> Level {
    let done = match op {
        Op::Load => memory.load(now_ps, core, block, label),
        Op::Prefetch => memory.load(now_ps, core, block, label),
        Op::Store => memory.store(now_ps, core, block, label),
        Op::Overwrite => memory.overwrite(now_ps, core, block, label),
        Op::NicWrite => memory.nic_write(now_ps, block, label),
        Op::NicRead => memory.nic_read(now_ps, block, label),
    };
    assert!(done.at_ps >= now_ps, "{op:?} of {block:?} ended before it began");
    done.level
}

fn compare(config: &MemoryConfig, blocks: u64, seed: u64) {
    let mut memory = MemorySystem::try_new(config).expect("a valid machine");
    let mut model = Model::new(config);
    let mut rng = Seed(seed).stream("ops");
    for step in 0..20_000_u64 {
        let op = OPS[below::<usize>(&mut rng, 6)];
        let core = below(&mut rng, config.cores.into());
        let block = below(&mut rng, blocks);
        let label = Label(below(&mut rng, 8));
        let level = apply(&mut memory, step * 9_000, op, core, Block(block), label);
        let expected = model.apply(op, core, block, label);
        assert_eq!(level, expected, "seed {seed}, step {step}: {op:?} of block {block} by core {core}");
        assert_eq!(memory.is_on_chip(Block(block)), model.find(block).is_some(), "seed {seed}, step {step}");
    }
    assert_eq!(memory.traffic(), model.traffic, "seed {seed}");
    assert_eq!(memory.dirty_blocks(), model.dirty_blocks(), "seed {seed}");
}

fn below<T: TryFrom<u64>>(rng: &mut Rng, bound: u64) -> T {
    T::try_from(rng.below(bound)).ok().expect("a small number")
}

fn with_llc(change: impl FnOnce(&mut LlcConfig)) -> MemoryConfig {
    let mut config = tiny();
    change(&mut config.llc);
    config
}

#[test]
fn any_history_gives_the_levels_and_the_traffic_of_the_model() {
    for seed in 0..20 {
        for blocks in [12, 40, 200] {
            compare(&tiny(), blocks, seed);
        }
    }
}

#[test]
fn a_limit_on_the_ways_of_the_nic_gives_those_of_the_model() {
    for seed in 0..10 {
        for nic_ways in 1..=4 {
            compare(&with_llc(|llc| llc.nic_ways = Some(nic_ways)), 100, seed);
        }
    }
}

#[test]
fn a_nic_that_neither_fetches_nor_forwards_gives_those_of_the_model() {
    for seed in 0..10 {
        compare(&with_llc(|llc| llc.nic_write_fetches = false), 100, seed);
        compare(&with_llc(|llc| llc.nic_forwards = false), 100, seed);
    }
}

#[test]
fn odd_numbers_of_ways_and_sets_give_those_of_the_model() {
    for seed in 0..10 {
        for (sets, ways) in [(1, 16), (3, 11), (5, 1), (7, 2), (16, 3)] {
            compare(&with_llc(|llc| (llc.bytes, llc.ways) = (sets * u64::from(ways) * 64, ways)), 100, seed);
        }
    }
}
