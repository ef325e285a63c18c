//! A link or bus as a row of time slots, each as long as one block's transfer.
//!
//! A reservation takes the first free slot at or after the requested time. Reservations are not
//! made in the order of their times: a block from memory reaches its core later than one requested
//! afterwards from a cache. With one "busy until" time the earlier transfer would wait for the
//! later one; with slots it fills the gap before it.
//!
//! Slots are bits in a ring of windows, each with the interval it represents, so nothing is swept.
//! A transfer whose slot is free starts at once, even within the slot: throughput never exceeds one
//! transfer per slot, and a wait may be too short by less than a slot.

use std::ops::Range;

const SLOTS: u64 = u64::BITS as u64;

/// Windows in the ring, a power of two: it reaches 512 transfers ahead of its oldest.
const WINDOWS: usize = 8;

/// The length of a slot with derived values, the same for all links of a network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotLength {
    /// 0 if transfers take no time and nothing is reserved.
    slot_ps: u64,
    reach_ps: u64,
    /// 2⁶⁴ / `slot_ps`, rounded up, which makes the division by `slot_ps` a multiplication, exact
    /// for times below 2⁶⁴ / `slot_ps`. 0 unless a slot is longer than the unit of time.
    reciprocal: u64,
}

impl SlotLength {
    pub(crate) const fn new(slot_ps: u64) -> Self {
        let reciprocal = if slot_ps > 1 { u64::MAX / slot_ps + 1 } else { 0 };
        Self { slot_ps, reach_ps: slot_ps * (SLOTS * (WINDOWS as u64 - 1)), reciprocal }
    }

    pub(crate) const fn is_long(&self) -> bool {
        self.reciprocal != 0
    }

    /// The latest time of a transfer that is reserved at `now_ps`.
    #[inline(always)]
    pub(crate) const fn limit_ps(&self, now_ps: u64) -> u64 {
        now_ps + self.reach_ps
    }

    #[inline(always)]
    const fn slot_at(&self, at_ps: u64) -> u64 {
        if self.is_long() { self.long_slot_at(at_ps) } else { at_ps }
    }

    /// [`slot_at`](Self::slot_at) for slots that [are long](Self::is_long).
    #[inline(always)]
    const fn long_slot_at(&self, at_ps: u64) -> u64 {
        ((at_ps as u128 * self.reciprocal as u128) >> 64) as u64
    }

    #[inline(always)]
    const fn start_ps(&self, slot: u64) -> u64 {
        slot * self.slot_ps
    }
}

#[derive(Debug, Clone, Copy)]
struct Window {
    epoch: u64,
    taken: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Ring {
    windows: [Window; WINDOWS],
    newest: u64,
}

impl Ring {
    pub(crate) const EMPTY: Self = Self { windows: [Window { epoch: 0, taken: 0 }; WINDOWS], newest: 0 };

    /// Reserves a transfer at `at_ps` or as soon as possible after it; returns its start. A
    /// transfer after [`limit_ps`](SlotLength::limit_ps) is not reserved: the ring would move past
    /// the present, and earlier transfers would wait for unused slots.
    #[inline(always)]
    pub(crate) fn reserve_near(&mut self, length: &SlotLength, at_ps: u64, limit_ps: u64) -> u64 {
        self.reserve_slot(length, length.slot_at(at_ps), at_ps, limit_ps)
    }

    /// [`reserve_near`](Self::reserve_near) for slots that [are long](SlotLength::is_long).
    #[inline(always)]
    pub(crate) fn reserve_long(&mut self, length: &SlotLength, at_ps: u64, limit_ps: u64) -> u64 {
        self.reserve_slot(length, length.long_slot_at(at_ps), at_ps, limit_ps)
    }

    #[inline(always)]
    fn reserve_slot(&mut self, length: &SlotLength, slot: u64, at_ps: u64, limit_ps: u64) -> u64 {
        // Usually the slot is free, and its interval is covered by the ring or newer than all.
        let epoch = slot / SLOTS;
        let window = &mut self.windows[index(epoch)];
        if window.epoch == epoch {
            let taken = window.taken | (1 << (slot % SLOTS));
            if taken != window.taken {
                window.taken = taken;
                return at_ps;
            }
            return self.reserve_next(length, slot, at_ps, limit_ps);
        }
        if epoch > self.newest && at_ps <= limit_ps {
            self.newest = epoch;
            *window = Window { epoch, taken: 1 << (slot % SLOTS) };
            return at_ps;
        }
        self.reserve_later(length, slot, at_ps, limit_ps)
    }

    /// Reserves a slot after `slot`, which is taken and covered by a window.
    #[inline(never)]
    fn reserve_next(&mut self, length: &SlotLength, slot: u64, at_ps: u64, limit_ps: u64) -> u64 {
        let epoch = slot / SLOTS;
        let window = &mut self.windows[index(epoch)];
        let free = !window.taken >> (slot % SLOTS);
        // The ring may have left an interval whose window is unused since.
        if free == 0 || at_ps > limit_ps || self.newest >= epoch + WINDOWS as u64 || length.slot_ps == 0 {
            return self.reserve_later(length, slot, at_ps, limit_ps);
        }
        let slot = slot + u64::from(free.trailing_zeros());
        window.taken |= 1 << (slot % SLOTS);
        // It begins after the slot of `at_ps`.
        length.start_ps(slot)
    }

    #[inline(never)]
    fn reserve_later(&mut self, length: &SlotLength, slot: u64, at_ps: u64, limit_ps: u64) -> u64 {
        if at_ps > limit_ps || length.slot_ps == 0 {
            return at_ps;
        }
        match self.take_near(slot) {
            Some(slot) => at_ps.max(length.start_ps(slot)),
            None => self.reserve_elsewhere(length, slot, at_ps),
        }
    }

    #[inline(never)]
    fn reserve_elsewhere(&mut self, length: &SlotLength, slot: u64, at_ps: u64) -> u64 {
        at_ps.max(length.start_ps(self.take(slot)))
    }

    /// Takes the first free slot from `slot` on in the same interval, if any.
    #[inline(always)]
    fn take_near(&mut self, slot: u64) -> Option<u64> {
        let epoch = slot / SLOTS;
        let window = &mut self.windows[index(epoch)];
        // The ring may have left an interval whose window is unused since.
        if window.epoch != epoch || self.newest >= epoch + WINDOWS as u64 {
            return None;
        }
        let taken = window.taken | (1 << (slot % SLOTS));
        if taken != window.taken {
            window.taken = taken;
            return Some(slot);
        }
        let free = !window.taken >> (slot % SLOTS);
        if free == 0 {
            return None;
        }
        let slot = slot + u64::from(free.trailing_zeros());
        window.taken |= 1 << (slot % SLOTS);
        Some(slot)
    }

    /// Takes `slot` if its interval is newer than all.
    #[inline(always)]
    fn take_new(&mut self, slot: u64) -> bool {
        let epoch = slot / SLOTS;
        let is_new = epoch > self.newest;
        if is_new {
            self.newest = epoch;
            self.windows[index(epoch)] = Window { epoch, taken: 1 << (slot % SLOTS) };
        }
        is_new
    }

    #[inline(always)]
    fn take_run(&mut self, from: u64, slots: u64) {
        let (mut slot, end) = (from, from + slots);
        while slot < end {
            let (epoch, first) = (slot / SLOTS, slot % SLOTS);
            let here = (end - slot).min(SLOTS - first);
            // The ring has left these: takes others instead.
            if epoch < self.oldest() {
                for slot in slot..end {
                    self.take(slot);
                }
                return;
            }
            *self.window(epoch) |= (u64::MAX >> (SLOTS - here)) << first;
            slot += here;
        }
    }

    /// Takes the first free slot from `from` on. Slots before the ring count as taken, so
    /// throughput is exact however far ahead reservations are.
    #[inline]
    fn take(&mut self, from: u64) -> u64 {
        let mut slot = from.max(self.oldest() * SLOTS);
        loop {
            let taken = self.window(slot / SLOTS);
            let free = !*taken & (u64::MAX << (slot % SLOTS));
            if free != 0 {
                *taken |= free & free.wrapping_neg();
                return slot / SLOTS * SLOTS + u64::from(free.trailing_zeros());
            }
            slot = (slot / SLOTS + 1) * SLOTS;
        }
    }

    #[inline(always)]
    fn free_run(&self, from: u64, until: u64) -> Option<Range<u64>> {
        // Usually all are in one interval that the ring covers.
        let (epoch, first) = (from / SLOTS, from % SLOTS);
        let window = &self.windows[index(epoch)];
        if from < until && (until - 1) / SLOTS == epoch && window.epoch == epoch {
            // Bits from the first slot on; those beyond the last one are taken.
            let taken = (window.taken >> first) | (u64::MAX << (until - 1 - from) << 1);
            let start = from + u64::from((!taken).trailing_zeros());
            let end = start + u64::from((taken >> ((start - from) % SLOTS)).trailing_zeros());
            return (start < until).then_some(start..end.min(until));
        }
        self.free_run_beyond(from, until)
    }

    /// A slot from `from` on before which no run of `slots` free slots begins. It checks at most
    /// three slots of a run, and one window.
    #[inline(always)]
    fn run_not_before(&self, from: u64, slots: u64) -> u64 {
        let (epoch, first) = (from / SLOTS, from % SLOTS);
        let window = &self.windows[index(epoch)];
        if window.epoch != epoch {
            return from;
        }
        // Slots beyond the window count as free.
        let one = !(window.taken >> first);
        let behind = |free: u64| free >> 1 | 1 << (SLOTS - 1);
        let two = one & behind(one);
        let three = two & behind(two);
        let run = match slots {
            ..=1 => one,
            2 => two,
            _ => three,
        };
        from + u64::from(run.trailing_zeros())
    }

    fn free_run_beyond(&self, from: u64, until: u64) -> Option<Range<u64>> {
        let start = self.next(from, until, true)?;
        let end = self.next(start, until, false).unwrap_or(until);
        Some(start..end)
    }

    /// The first slot in `from..until` that is free (`is_free`) or taken.
    fn next(&self, from: u64, until: u64, is_free: bool) -> Option<u64> {
        let mut slot = from;
        while slot < until {
            let taken = self.taken(slot / SLOTS);
            let wanted = if is_free { !taken } else { taken } & (u64::MAX << (slot % SLOTS));
            if wanted != 0 {
                let found = slot / SLOTS * SLOTS + u64::from(wanted.trailing_zeros());
                return (found < until).then_some(found);
            }
            slot = (slot / SLOTS + 1) * SLOTS;
        }
        None
    }

    /// The taken slots of an epoch: none ahead of the ring, all before it.
    fn taken(&self, epoch: u64) -> u64 {
        let window = &self.windows[index(epoch)];
        match window.epoch == epoch {
            true => window.taken,
            false if epoch < self.oldest() => u64::MAX,
            false => 0,
        }
    }

    const fn oldest(&self) -> u64 {
        (self.newest + 1).saturating_sub(WINDOWS as u64)
    }

    /// The taken slots of an epoch that is not before the ring.
    #[inline]
    fn window(&mut self, epoch: u64) -> &mut u64 {
        self.newest = self.newest.max(epoch);
        let window = &mut self.windows[index(epoch)];
        if window.epoch != epoch {
            *window = Window { epoch, taken: 0 };
        }
        &mut window.taken
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    ring: Ring,
    length: SlotLength,
}

impl Calendar {
    pub(crate) const fn new(slot_ps: u64) -> Self {
        Self { ring: Ring::EMPTY, length: SlotLength::new(slot_ps) }
    }

    #[inline(always)]
    pub(crate) fn take_first(&mut self, slot: u64) -> u64 {
        // Usually a slot in the interval is free, and the ring covers it, or it is new.
        match self.ring.take_near(slot) {
            Some(slot) => slot,
            None if self.ring.take_new(slot) => slot,
            None => self.take_later(slot),
        }
    }

    #[inline(always)]
    pub(crate) fn take_run(&mut self, from: u64, slots: u64) {
        self.ring.take_run(from, slots);
    }

    #[inline(never)]
    fn take_later(&mut self, slot: u64) -> u64 {
        if self.length.slot_ps == 0 { slot } else { self.ring.take(slot) }
    }

    #[inline(never)]
    pub(crate) fn reserve_near(&mut self, at_ps: u64, now_ps: u64) -> u64 {
        self.ring.reserve_near(&self.length, at_ps, self.length.limit_ps(now_ps))
    }

    #[inline(always)]
    pub(crate) const fn slot_at(&self, at_ps: u64) -> u64 {
        self.length.slot_at(at_ps)
    }

    #[inline(always)]
    pub(crate) const fn start_ps(&self, slot: u64) -> u64 {
        self.length.start_ps(slot)
    }

    #[inline(always)]
    pub(crate) fn free_run(&self, from: u64, until: u64) -> Option<Range<u64>> {
        self.ring.free_run(from, until)
    }

    #[inline(always)]
    pub(crate) fn run_not_before(&self, from: u64, slots: u64) -> u64 {
        self.ring.run_not_before(from, slots)
    }

    #[inline(always)]
    pub(crate) fn next_taken(&self, from: u64, until: u64) -> Option<u64> {
        self.ring.next(from, until, false)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are needed")]
#[inline(always)]
const fn index(epoch: u64) -> usize {
    epoch as usize % WINDOWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;
    use std::collections::BTreeSet;

    const SLOT_PS: u64 = 2500;

    impl Calendar {
        /// Reserves a transfer at `at_ps` or as soon as possible after it; returns its start.
        fn reserve(&mut self, at_ps: u64) -> u64 {
            let slot = self.take_first(self.slot_at(at_ps));
            at_ps.max(self.start_ps(slot))
        }
    }

    /// The first slot from `from` on that is not in the set; adds it to the set.
    fn take(taken: &mut BTreeSet<u64>, from: u64) -> u64 {
        let slot = (from..).find(|slot| !taken.contains(slot)).expect("an unbounded range");
        taken.insert(slot);
        slot
    }

    /// Compares transfers that `reserve` makes room for at a time, not long after another time,
    /// with those of a plain set.
    fn compare_with_a_plain_set(reserve: impl Fn(&mut Calendar, u64, u64) -> u64) {
        for seed in 0..20 {
            let mut rng = Seed(seed).stream("times");
            let (mut calendar, mut taken) = (Calendar::new(SLOT_PS), BTreeSet::new());
            let mut now_ps = 0;
            for _ in 0..5000 {
                now_ps += rng.below(2 * SLOT_PS + 200);
                let at_ps = now_ps + rng.below(60 * SLOT_PS);
                let slot = take(&mut taken, at_ps / SLOT_PS);
                assert_eq!(reserve(&mut calendar, at_ps, now_ps), at_ps.max(slot * SLOT_PS), "seed {seed}");
            }
        }
    }

    #[test]
    fn slots_are_those_of_a_plain_set() {
        compare_with_a_plain_set(|calendar, at_ps, _| calendar.reserve(at_ps));
    }

    #[test]
    fn transfers_that_are_near_take_the_slots_of_a_plain_set() {
        compare_with_a_plain_set(Calendar::reserve_near);
    }

    #[test]
    fn a_run_of_free_slots_is_taken_as_if_one_by_one() {
        for seed in 0..20 {
            let mut rng = Seed(seed).stream("runs");
            let (mut at_once, mut one_by_one) = (Calendar::new(SLOT_PS), Calendar::new(SLOT_PS));
            let mut from = 0;
            for _ in 0..2000 {
                // Far ahead now and then: the ring leaves unused windows behind.
                from += if rng.below(50) == 0 { rng.below(1500) } else { rng.below(20) };
                let single = from + rng.below(100);
                assert_eq!(at_once.take_first(single), one_by_one.take_first(single), "seed {seed}");
                let start = from.saturating_sub(rng.below(900));
                let Some(run) = at_once.free_run(start, start + 1 + rng.below(80)) else { continue };
                at_once.take_run(run.start, run.end - run.start);
                run.for_each(|slot| {
                    one_by_one.take_first(slot);
                });
                assert_eq!(at_once.free_run(from, from + 300), one_by_one.free_run(from, from + 300), "seed {seed}");
                assert_eq!(at_once.ring.newest, one_by_one.ring.newest, "seed {seed}");
            }
        }
    }

    #[test]
    fn no_run_begins_before_the_slot_that_is_named() {
        for seed in 0..20 {
            let mut rng = Seed(seed).stream("runs");
            let mut calendar = Calendar::new(SLOT_PS);
            let (mut from, mut ahead) = (0, 0);
            for _ in 0..2000 {
                from += rng.below(5);
                calendar.take_first(from + rng.below(40));
                let slots = 1 + rng.below(3);
                let named = calendar.run_not_before(from, slots);
                let has_run =
                    |start: u64| (start..start + slots).all(|slot| calendar.ring.next(slot, slot + 1, true).is_some());
                assert!((from..named).all(|start| !has_run(start)), "seed {seed}: {slots} from {from} on, not {named}");
                // It is the first one where the window says so.
                let is_last = named / SLOTS != (named + slots - 1) / SLOTS || named / SLOTS != from / SLOTS;
                assert!(is_last || has_run(named), "seed {seed}: {slots} from {named} on");
                ahead += u64::from(named > from);
            }
            assert!(ahead > 200, "seed {seed}: {ahead}");
        }
    }

    #[test]
    fn a_free_slot_is_taken_at_once_and_only_once() {
        let mut calendar = Calendar::new(SLOT_PS);
        assert_eq!([0; 3].map(|_| calendar.reserve(1300)), [1300, 2500, 5000]);
        assert_eq!(calendar.reserve(0), 7500);
    }

    #[test]
    fn a_gap_before_a_late_transfer_is_used() {
        let mut calendar = Calendar::new(SLOT_PS);
        assert_eq!(calendar.reserve(100 * SLOT_PS), 100 * SLOT_PS);
        assert_eq!(calendar.reserve(10 * SLOT_PS), 10 * SLOT_PS);
    }

    #[test]
    fn throughput_is_exact_however_far_ahead_reservations_are() {
        let mut calendar = Calendar::new(SLOT_PS);
        for transfer in 0..100_000 {
            assert_eq!(calendar.reserve(0), transfer * SLOT_PS);
        }
    }

    #[test]
    fn a_transfer_far_ahead_delays_no_other() {
        let mut calendar = Calendar::new(SLOT_PS);
        assert_eq!(calendar.reserve_near(10_000 * SLOT_PS, 0), 10_000 * SLOT_PS);
        assert_eq!(calendar.reserve_near(SLOT_PS, 0), SLOT_PS);
        assert_eq!(calendar.reserve_near(10_000 * SLOT_PS, 9_990 * SLOT_PS), 10_000 * SLOT_PS);
        assert_eq!(calendar.reserve_near(10_000 * SLOT_PS, 9_990 * SLOT_PS), 10_001 * SLOT_PS);
    }

    #[test]
    fn slots_begin_at_exact_times_for_days() {
        for slot_ps in [1, 2, 3, 2500, 4129] {
            let calendar = Calendar::new(slot_ps);
            for slot in [0, 1, 7, 1 << 20, 1 << 40] {
                assert_eq!(calendar.slot_at(slot * slot_ps), slot, "slots of {slot_ps} ps");
                assert_eq!(calendar.slot_at(slot * slot_ps + slot_ps - 1), slot, "slots of {slot_ps} ps");
            }
        }
    }

    #[test]
    fn free_runs_lie_between_what_is_taken() {
        let mut calendar = Calendar::new(SLOT_PS);
        for slot in [3, 4, 130, 200] {
            calendar.take_first(slot);
        }
        assert_eq!(calendar.free_run(0, 300), Some(0..3));
        assert_eq!(calendar.free_run(3, 300), Some(5..130));
        assert_eq!(calendar.free_run(131, 150), Some(131..150));
        assert_eq!(calendar.free_run(200, 201), None);
        assert_eq!(calendar.free_run(201, 2000), Some(201..2000));
    }
}
