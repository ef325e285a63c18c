//! A link or bus as a row of time slots, each as long as one block's transfer.
//!
//! A reservation takes the first free slot at or after the time it asks for. Reservations are made for times ahead (a
//! block that comes from memory reaches its core later than one that is asked for afterwards and comes from a cache), so
//! a plain "busy until" would make the early wait for the late: slots let them fill the gaps between.
//!
//! Slots are bits of a ring of windows; each window knows which stretch of time it stands for, so nothing is ever swept.
//! A transfer that finds its slot free starts at once, in the middle of the slot too: throughput never exceeds one
//! transfer a slot, and a wait can come out short by less than one slot.

/// Slots of a window: the bits of a word.
const SLOTS: u64 = u64::BITS as u64;

/// Windows of the ring, a power of two: with 64 slots each the ring reaches 512 transfers ahead of its oldest.
const WINDOWS: usize = 8;

/// What a slot older than the ring counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// Taken: throughput is exact, however far ahead one reservation is.
    Taken,
    /// Free: one reservation far ahead does not hold up those before it.
    Free,
}

/// 64 slots: which 64, and which of them are taken.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    epoch: u64,
    taken: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    windows: [Window; WINDOWS],
    newest: u64,
    /// Length of a slot; 0 where transfers take no time and nothing is reserved.
    slot_ps: u64,
    /// 2⁶⁴ / `slot_ps`, rounded up: dividing by it is one multiplication, exact for all times below 2⁶⁴ / `slot_ps`.
    reciprocal: u64,
    past: Past,
}

impl Calendar {
    pub(crate) const fn new(slot_ps: u64, past: Past) -> Self {
        let reciprocal = if slot_ps > 1 { u64::MAX / slot_ps + 1 } else { 0 };
        let windows = [Window { epoch: 0, taken: 0 }; WINDOWS];
        Self { windows, newest: 0, slot_ps, reciprocal, past }
    }

    /// Reserves a transfer at `at_ps` or as soon after it as possible; returns its start.
    #[inline]
    pub(crate) fn reserve(&mut self, at_ps: u64) -> u64 {
        if self.slot_ps == 0 {
            return at_ps;
        }
        match self.take(self.slot_at(at_ps)) {
            Some(slot) => at_ps.max(slot * self.slot_ps),
            None => at_ps,
        }
    }

    /// The slot that `at_ps` lies in.
    #[inline]
    pub(crate) const fn slot_at(&self, at_ps: u64) -> u64 {
        if self.reciprocal == 0 { at_ps } else { ((at_ps as u128 * self.reciprocal as u128) >> 64) as u64 }
    }

    /// When `slot` begins.
    pub(crate) const fn start_ps(&self, slot: u64) -> u64 {
        slot * self.slot_ps
    }

    /// Takes the first free slot from `from` on; nothing where that is before the ring and counts as free.
    #[inline]
    pub(crate) fn take(&mut self, from: u64) -> Option<u64> {
        let oldest = self.oldest();
        let mut slot = from;
        if from / SLOTS < oldest {
            if self.past == Past::Free {
                return None;
            }
            slot = oldest * SLOTS;
        }
        loop {
            let window = self.window(slot / SLOTS);
            let free = !window.taken & (u64::MAX << (slot % SLOTS));
            if free != 0 {
                window.taken |= free & free.wrapping_neg();
                return Some(slot / SLOTS * SLOTS + u64::from(free.trailing_zeros()));
            }
            slot = (slot / SLOTS + 1) * SLOTS;
        }
    }

    /// Free slots one after another: the first run in `from..until`.
    pub(crate) fn free_run(&self, from: u64, until: u64) -> Option<std::ops::Range<u64>> {
        let start = self.next(from, until, true)?;
        let end = self.next(start, until, false).unwrap_or(until);
        Some(start..end)
    }

    /// The first slot in `from..until` that is free, or that is taken.
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

    /// The taken slots of an epoch: none where it is ahead of the ring, all or none where it is behind.
    fn taken(&self, epoch: u64) -> u64 {
        let window = &self.windows[index(epoch)];
        match window.epoch == epoch {
            true => window.taken,
            false if epoch < self.oldest() && self.past == Past::Taken => u64::MAX,
            false => 0,
        }
    }

    const fn oldest(&self) -> u64 {
        (self.newest + 1).saturating_sub(WINDOWS as u64)
    }

    /// The window of an epoch that is not behind the ring.
    #[inline]
    fn window(&mut self, epoch: u64) -> &mut Window {
        self.newest = self.newest.max(epoch);
        let window = &mut self.windows[index(epoch)];
        if window.epoch != epoch {
            *window = Window { epoch, taken: 0 };
        }
        window
    }
}

/// Where an epoch's window is in the ring.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are all that is wanted")]
const fn index(epoch: u64) -> usize {
    epoch as usize % WINDOWS
}
