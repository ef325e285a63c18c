//! The receive buffer compared with a list of intervals: all short histories, and long random ones.

use crate::support::histories::walk;
use crate::support::interval_buffer::IntervalBuffer;
use arbitrary::Arbitrary;
use nebula_nic::{CoreId, Holder, RecvBuffer, SlotOrder, SlotRange};

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Alloc(u8),
    Give { nth: u8, core: u8 },
    Free { nth: u8 },
    FreeAny { start: u8, slots: u8, core: Option<u8> },
    Scrub(u8),
}

#[derive(Clone)]
struct Pair {
    real: RecvBuffer,
    model: IntervalBuffer,
}

impl Pair {
    fn new(slots: u32, order: SlotOrder) -> Self {
        Self { real: RecvBuffer::new(slots).in_order(order), model: IntervalBuffer::new(slots, order) }
    }

    fn live(&self, nth: u8) -> Option<(SlotRange, Holder)> {
        self.model.live.get(usize::from(nth) % self.model.live.len().max(1)).copied()
    }

    /// Applies a step to both and compares.
    fn apply(&mut self, op: Op) {
        match op {
            Op::Alloc(slots) => {
                let slots = u32::from(slots).max(1);
                let range = self.real.alloc(slots);
                assert_eq!(range, self.model.alloc(slots));
            }
            Op::Give { nth, core } => {
                if let Some((range, Holder::Nic)) = self.live(nth) {
                    self.real.give(range, CoreId(core.into()));
                    self.model.give(range, CoreId(core.into()));
                }
            }
            Op::Free { nth } => {
                if let Some((range, holder)) = self.live(nth) {
                    assert!(self.real.free(range, holder) && self.model.free(range, holder));
                }
            }
            Op::FreeAny { start, slots, core } => {
                let range = SlotRange::new(start.into(), slots.into());
                let holder = core.map_or(Holder::Nic, |core| Holder::Core(CoreId(core.into())));
                assert_eq!(self.real.free(range, holder), self.model.free(range, holder), "{range} of {holder:?}");
            }
            Op::Scrub(slots) => {
                let slots = u32::from(slots).max(1);
                let found = self.real.scrub(slots);
                assert_eq!(found, self.model.scrub(slots));
                assert!(!found || self.real.clone().alloc(slots).is_some(), "after a scrub there is room");
            }
        }
        assert_eq!(self.real.slots_used(), self.model.slots_used());
        assert!(self.real.slots_used() <= self.real.slots_used_max());
        assert!(self.real.slots_used_max() <= self.real.slots());
    }

    /// Only exactly one live RPC of that holder can be freed.
    fn refuses_all_else(&mut self) {
        for (start, slots) in (0..=5).flat_map(|start| (0..=5).map(move |slots| (start, slots))) {
            for holder in [Holder::Nic, Holder::Core(CoreId(0)), Holder::Core(CoreId(u16::MAX))] {
                let range = SlotRange::new(start, slots);
                if !self.model.live.contains(&(range, holder)) {
                    assert!(!self.real.free(range, holder), "{range} of {holder:?} is not live");
                }
            }
        }
    }
}

fn choices(pair: &Pair) -> Vec<Op> {
    let mut ops: Vec<_> = (1..=4).map(Op::Alloc).chain([1, 2].map(Op::Scrub)).collect();
    for (nth, (_, holder)) in (0..).zip(&pair.model.live) {
        ops.push(Op::Free { nth });
        if *holder == Holder::Nic {
            ops.push(Op::Give { nth, core: 0 });
        }
    }
    ops
}

#[test]
fn all_short_histories_agree_with_intervals() {
    let histories = walk(&Pair::new(4, SlotOrder::Circular), 7, &choices, &Pair::apply);
    assert!(histories > 1_000_000, "{histories} histories");
}

#[test]
fn only_exactly_one_live_rpc_can_be_freed() {
    let check = |pair: &mut Pair, op| {
        pair.apply(op);
        pair.refuses_all_else();
    };
    assert!(walk(&Pair::new(4, SlotOrder::FirstWhenEmpty), 5, &choices, &check) > 10_000);
}

#[test]
fn long_histories_agree_with_intervals() {
    nebula_testing::seeded(|draw| {
        let mut pair = Pair::new(
            draw.int_in_range(1..=200)?,
            if draw.arbitrary()? { SlotOrder::Circular } else { SlotOrder::FirstWhenEmpty },
        );
        for _ in 0..draw.int_in_range(0..=400)? {
            pair.apply(draw.arbitrary()?);
        }
        Ok(())
    })
    .size_max(4096)
    .runs(600);
}

#[test]
fn ranges_longer_than_a_word_of_bits_come_and_go() {
    let mut pair = Pair::new(300, SlotOrder::Circular);
    for (slots, nth) in [(130, 0), (64, 0), (63, 1), (65, 0), (1, 1), (128, 0), (100, 2)].repeat(200) {
        pair.apply(Op::Alloc(slots));
        pair.apply(Op::Give { nth, core: 3 });
        if pair.model.slots_used() > 150 {
            pair.apply(Op::Free { nth });
        }
        pair.apply(Op::Scrub(slots));
    }
    assert!(pair.real.wraps() > 0);
}

#[test]
fn a_slow_rpc_does_not_stop_the_others() {
    let mut buffer = RecvBuffer::new(64);
    let slow = buffer.alloc(3).unwrap();
    for _ in 0..10_000 {
        let range = buffer.alloc(5).or_else(|| if buffer.scrub(5) { buffer.alloc(5) } else { None }).unwrap();
        assert!(range.start.0 >= slow.slots, "{range} overlaps the slow one");
        assert!(buffer.free(range, Holder::Nic));
    }
    assert!(buffer.free(slow, Holder::Nic));
    assert_eq!(buffer.slots_used(), 0);
}

#[test]
fn all_slots_can_be_used() {
    let mut buffer = RecvBuffer::new(130);
    assert!((0..130).all(|_| buffer.alloc(1).is_some()));
    assert_eq!((buffer.alloc(1), buffer.slots_free(), buffer.scrub(1)), (None, 0, false));
}

#[test]
fn no_part_of_an_rpc_can_be_freed_wherever_it_lies() {
    let core = CoreId(3);
    for (start, slots) in (0..130).flat_map(|start| [2, 3, 63, 64, 65, 70].map(|slots| (start, slots))) {
        let mut buffer = RecvBuffer::new(200);
        let before = (start > 0).then(|| buffer.alloc(start));
        let range = buffer.alloc(slots).unwrap();
        buffer.give(range, core);
        for part in [(start, 1), (start, slots - 1), (start + 1, slots - 1), (start, slots + 1)] {
            let part = SlotRange::new(part.0, part.1);
            assert!(!buffer.free(part, Holder::Core(core)), "{part} of {range}, behind {before:?}");
        }
        assert!(buffer.free(range, Holder::Core(core)));
        assert_eq!(buffer.slots_used(), start);
    }
}

fn end_of(range: &SlotRange) -> u32 {
    range.start.0 + range.slots
}

/// A buffer that looks ahead at each input, and its live ranges.
struct Ahead {
    buffer: RecvBuffer,
    live: Vec<SlotRange>,
    longest: u32,
}

impl Ahead {
    fn alloc(&mut self, slots: u32) -> Option<SlotRange> {
        let range = self.buffer.alloc_ahead(slots, self.longest);
        if let Some(range) = range {
            let overlaps = |live: &SlotRange| range.start.0 < end_of(live) && live.start.0 < end_of(&range);
            assert!(!self.live.iter().any(overlaps), "{range} overlaps one of {:?}", self.live);
            self.live.push(range);
        }
        range
    }

    fn free(&mut self, nth: usize) {
        let range = self.live.remove(nth);
        self.buffer.look_ahead(self.longest);
        assert!(self.buffer.free(range, Holder::Nic));
    }

    /// Whether as many consecutive slots are free as the longest RPC takes.
    fn has_room(&self) -> bool {
        let is_free = |slot: u32| self.live.iter().all(|live| slot < live.start.0 || slot >= end_of(live));
        let mut run = 0;
        (0..self.buffer.slots()).any(|slot| {
            run = if is_free(slot) { run + 1 } else { 0 };
            run >= self.longest
        })
    }
}

#[test]
fn room_that_is_looked_for_ahead_is_free_and_found_within_one_look_at_each_word() {
    let mut found = 0_u32;
    nebula_testing::seeded(|draw| {
        let slots: u32 = draw.int_in_range(1..=400)?;
        let longest = draw.int_in_range(1..=slots.min(90))?;
        let mut ahead = Ahead { buffer: RecvBuffer::new(slots), live: Vec::new(), longest };
        for _ in 0..draw.int_in_range(0..=400)? {
            if !ahead.live.is_empty() && draw.ratio(2, 5)? {
                let nth = draw.choose_index(ahead.live.len())?;
                ahead.free(nth);
            } else {
                ahead.alloc(draw.int_in_range(1..=longest)?);
            }
        }
        // Without further changes: two rounds over the words, and the last read word has yielded
        // its runs.
        for _ in 0..2 * (slots / 64 + 2) + 6 {
            ahead.buffer.look_ahead(longest);
        }
        let has_room = ahead.has_room();
        found += u32::from(has_room);
        assert_eq!(ahead.alloc(longest).is_some(), has_room, "{slots} slots, {longest} wanted: {:?}", ahead.live);
        Ok(())
    })
    .size_max(4096)
    .runs(800);
    assert!(found > 100, "{found}");
}

#[test]
fn one_slow_rpc_costs_those_behind_it_nothing_when_looked_ahead() {
    let mut ahead = Ahead { buffer: RecvBuffer::new(1280), live: Vec::new(), longest: 9 };
    assert!(ahead.alloc(9).is_some(), "the slow one");
    // A hundred laps with sixty RPCs live.
    for rpc in 0..14_000_u32 {
        assert!(ahead.alloc(9).is_some(), "RPC {rpc}");
        if ahead.live.len() > 61 {
            ahead.free(1);
        }
    }
}
