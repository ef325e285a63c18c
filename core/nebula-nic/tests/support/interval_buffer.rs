//! A receive buffer as a list of intervals: slow and obviously correct.

use nebula_nic::{CoreId, Holder, SlotOrder, SlotRange};

#[derive(Clone, Debug)]
pub struct IntervalBuffer {
    pub slots: u32,
    pub order: SlotOrder,
    pub head: u32,
    pub live: Vec<(SlotRange, Holder)>,
}

impl IntervalBuffer {
    pub fn new(slots: u32, order: SlotOrder) -> Self {
        Self { slots, order, head: 0, live: Vec::new() }
    }

    /// Takes slots after the head, or from the start if all between the head and the end is free.
    /// With `FirstWhenEmpty`, an empty buffer begins at its start.
    pub fn alloc(&mut self, slots: u32) -> Option<SlotRange> {
        if self.live.is_empty() && self.order == SlotOrder::FirstWhenEmpty {
            self.head = 0;
        }
        let start = if self.fits(self.head, slots) {
            self.head
        } else if self.is_free(self.head, self.slots) && self.fits(0, slots) {
            0
        } else {
            return None;
        };
        let range = SlotRange::new(start, slots);
        self.head = start + slots;
        self.live.push((range, Holder::Nic));
        Some(range)
    }

    pub fn give(&mut self, range: SlotRange, core: CoreId) {
        let held = self.live.iter_mut().find(|(live, _)| *live == range).expect("only a live range is given");
        held.1 = Holder::Core(core);
    }

    pub fn free(&mut self, range: SlotRange, holder: Holder) -> bool {
        let before = self.live.len();
        self.live.retain(|&held| held != (range, holder));
        self.live.len() < before
    }

    /// Moves the head to the first place, from the head on and round, where `slots` fit.
    pub fn scrub(&mut self, slots: u32) -> bool {
        let place = (self.head..self.slots).chain(0..self.head).find(|&start| self.fits(start, slots));
        self.head = place.unwrap_or(self.head);
        place.is_some()
    }

    pub fn slots_used(&self) -> u32 {
        self.live.iter().map(|(range, _)| range.slots).sum()
    }

    fn fits(&self, start: u32, slots: u32) -> bool {
        start + slots <= self.slots && self.is_free(start, start + slots)
    }

    fn is_free(&self, from: u32, to: u32) -> bool {
        self.live.iter().all(|(range, _)| range.start.0 + range.slots <= from || range.start.0 >= to)
    }
}
