//! Room ahead of need, one word of bits at a time.
//!
//! In each cycle with an input, hardware reads three words in parallel with its other work: at
//! `tail`, at the end of the free run at the first slot, and behind slow RPCs. Their contents count
//! some inputs later. Here each input of the back end pays for the same looks, and their results
//! count from the same input on. So all packets cost the same, and the same inputs find the same
//! room in every world.
//!
//! A found run stays free until it is given out: an RPC that gets slots of it takes the whole run
//! out of the search.

use super::RecvBuffer;
use crate::id::SlotRange;

/// Inputs from the one that reads a word to the one that knows its free runs: hardware finds the
/// longest in as many stages.
const STAGES: usize = 3;
/// The search continues while fewer than this many of the longest RPCs fit at the head.
const AHEAD: u32 = 8;
const NOTHING: SlotRange = SlotRange::new(0, 0);

/// A word that was read and whose runs are not known yet.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Its index; beyond all words if none was read.
    word: u32,
    used: u64,
}

impl Look {
    const NONE: Self = Self { word: u32::MAX, used: u64::MAX };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    /// The slots before it are free.
    low: u32,
    word: u32,
    /// Words that were read, the oldest first.
    looks: [Look; STAGES],
    /// The free run that ends before the word of the oldest look.
    carry: SlotRange,
    /// The longest run of the word before that.
    candidate: SlotRange,
    /// The longest known run that the head would not reach anyway.
    found: SlotRange,
}

/// The slots for the next RPC.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    /// The end of the free run that `start` is in; `None` if `tail` stays.
    tail: Option<u32>,
    is_found: bool,
}

impl Scan {
    pub(super) const fn new(slots: u32) -> Self {
        let looks = [Look::NONE; STAGES];
        Self { low: slots, word: 0, looks, carry: NOTHING, candidate: NOTHING, found: NOTHING }
    }

    /// Finds the runs of the oldest look: the first of the longest becomes the candidate.
    fn tell(&mut self, slots: u32) {
        let Look { word, used } = self.looks[0];
        self.candidate = NOTHING;
        if word == Look::NONE.word {
            return;
        }
        let first = word * 64;
        let start = if self.carry.slots > 0 { self.carry.start.0 } else { first };
        let carried = SlotRange::new(start, self.carry.slots + used.trailing_zeros());
        let within = longest_run(used);
        self.candidate = match within.slots > carried.slots {
            true => SlotRange::new(first + within.start.0, within.slots),
            false => carried,
        };
        self.carry = match used {
            _ if first + 64 >= slots => NOTHING, // a run does not go on over the end
            0 => carried,
            _ => SlotRange::new(first + 64 - used.leading_zeros(), used.leading_zeros()),
        };
    }

    fn take(&mut self, range: SlotRange) {
        let end = range.start.0 + range.slots;
        for run in [&mut self.found, &mut self.candidate, &mut self.carry] {
            if range.start.0 < run.start.0 + run.slots && run.start.0 < end {
                *run = NOTHING;
            }
        }
        let words = range.start.0 / 64..=end / 64; // an end at a border counts for both: hardware compares no more
        self.looks.iter_mut().filter(|look| words.contains(&look.word)).for_each(|look| look.used = u64::MAX);
    }
}

impl RecvBuffer {
    /// Takes `slots` consecutive slots for one RPC, like [`alloc`](Self::alloc), and looks ahead
    /// for RPCs of at most `longest`: at the head, at the first slot, or behind a slow RPC.
    ///
    /// `None` if the known room is too short; there may be more that no look has reached yet. Cost:
    /// three words to look at, and one for each further 64 slots of the RPC; as many cycles as
    /// words beyond two in RTL.
    pub fn alloc_ahead(&mut self, slots: u32, longest: u32) -> Option<SlotRange> {
        let place = self.place(slots);
        self.look(longest, place);
        let Place { start, tail, .. } = place?;
        self.wraps += u64::from(start == 0 && self.head > 0);
        self.tail = tail.unwrap_or(self.tail);
        (1..slots.div_ceil(64)).for_each(|_| self.tail = self.next_used(self.tail));
        self.head = start + slots;
        self.used += slots;
        self.used_max = self.used_max.max(self.used);
        let range = SlotRange::new(start, slots);
        self.scan.take(range);
        self.mark(range);
        Some(SlotRange::new(self.first + start, slots))
    }

    /// Looks ahead for RPCs of at most `longest` slots: called before each free by a core. Cost:
    /// three words to look at. In RTL none, in parallel with the other stations.
    pub fn look_ahead(&mut self, longest: u32) {
        self.look(longest, None);
    }

    /// Whether an RPC of `slots` slots has to go beyond a slow RPC: it fits neither at the head nor
    /// at the first slot.
    #[must_use]
    pub fn is_stopped(&self, slots: u32) -> bool {
        self.place(slots).is_none_or(|place| place.is_found)
    }

    fn place(&self, slots: u32) -> Option<Place> {
        let Self { head, tail, scan: Scan { low, found, .. }, .. } = *self;
        if self.restarts() && self.slots >= slots {
            return Some(Place { start: 0, tail: Some(self.slots), is_found: false });
        }
        if tail - head >= slots {
            return Some(Place { start: head, tail: None, is_found: false });
        }
        if tail == self.slots && low >= slots {
            return Some(Place { start: 0, tail: Some(low), is_found: false });
        }
        let end = found.start.0 + found.slots;
        (found.slots >= slots).then_some(Place { start: found.start.0, tail: Some(end), is_found: true })
    }

    /// All looks of one input, which gives out the slots of `place`: at the bits from before it.
    fn look(&mut self, longest: u32, place: Option<Place>) {
        let Self { head, tail, slots, scan: Scan { low, found, candidate, .. }, .. } = *self;
        let fits = |wanted: u32| tail - head >= wanted || (tail == slots && low >= wanted);
        let wants = !fits(longest.saturating_mul(AHEAD)) && found.slots < longest;
        // A run that the head reaches anyway is no room behind a slow RPC.
        let end = candidate.start.0 + candidate.slots;
        let is_ahead = (candidate.start.0 < tail && head < end) || (tail == slots && candidate.start.0 < low);
        let base = if place.is_some_and(|place| place.is_found) { NOTHING } else { found };
        let is_better = candidate.slots > base.slots && !(fits(longest) && is_ahead);
        self.scan.found = if is_better { candidate } else { base };
        self.scan.tell(slots);
        self.scan.looks.rotate_left(1);
        self.scan.looks[STAGES - 1] = if wants { self.read_next() } else { Look::NONE };
        self.tail = self.next_used(tail);
        self.scan.low = match place {
            Some(place) if place.start < low => place.start,
            Some(place) if place.start / 64 == low / 64 => low,
            _ => self.next_used(low),
        };
    }

    fn read_next(&mut self) -> Look {
        let word = self.scan.word;
        self.scan.word = if (word + 1) * 64 >= self.slots { 0 } else { word + 1 };
        Look { word, used: self.words[word as usize].used }
    }

    /// The first used slot at or after `from`, or else the first slot of the next word.
    fn next_used(&self, from: u32) -> u32 {
        match self.words[(from / 64) as usize].used >> (from % 64) {
            0 => (from | 63) + 1,
            used => from + used.trailing_zeros(),
        }
    }
}

/// The first of the longest runs of clear bits.
fn longest_run(used: u64) -> SlotRange {
    // A bit stays set while it begins a run longer than `slots`.
    let (mut longer, mut starts, mut slots) = (!used, 0_u64, 0);
    while longer != 0 {
        (starts, slots) = (longer, slots + 1);
        longer &= longer >> 1;
    }
    SlotRange::new(starts.trailing_zeros() % 64, slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_of_a_word_is_the_first_of_its_length() {
        for (used, start, slots) in [
            (0, 0, 64),
            (1, 1, 63),
            (0b1001_0001, 8, 56),
            (!0b0110_1110, 1, 3),
            (!0b0110_0110, 1, 2),
            (u64::MAX, 0, 0),
            (u64::MAX >> 1, 63, 1),
        ] {
            let run = longest_run(used);
            assert_eq!((run.start.0, run.slots), (start, slots), "{used:b}");
        }
    }
}
