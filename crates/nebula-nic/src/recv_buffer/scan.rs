//! The search for room behind a slow RPC, one word of bits at a time.
//!
//! Hardware scans beside its other work, a word each cycle. Here each input of the back end pays for one word, so that no packet costs more than
//! another, and the same inputs find the same room in every world.

use super::{RecvBuffer, SlotRange, masks};

/// A search, and what it found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Words that are still to be looked at; 0 while nothing is searched.
    left: u32,
    /// The next word.
    word: u32,
    /// The first slot of the free run that reaches up to that word, and its length so far.
    run: u32,
    slots: u32,
    /// The longest run so far.
    best: SlotRange,
    /// The run that was found.
    found: Option<SlotRange>,
}

impl RecvBuffer {
    /// Looks for a run of `slots` free slots while there is none at the head: at one word of bits.
    ///
    /// Called once for each input, it has seen the whole buffer after as many inputs as there are words. It keeps the run for
    /// [`skip`](Self::skip); if none is long enough, the longest.
    ///
    /// # Cost
    ///
    /// One word to look at, and O(`slots` / 64) to see whether what was found is free still. In RTL one cycle, beside the other stations.
    #[inline]
    pub fn look_ahead(&mut self, slots: u32) {
        if self.tail - self.head >= slots {
            return;
        }
        let Some(end) = self.blocked_at(slots).filter(|_| !self.has_found(slots)) else { return };
        if self.scan.left == 0 {
            let word = if end < self.slots { end / 64 } else { 0 };
            self.scan = Scan {
                left: self.slots.div_ceil(64) + 1,
                word,
                run: word * 64,
                found: self.scan.found,
                ..Scan::default()
            };
        }
        self.look_at_word(slots);
    }

    /// Moves `head` to the run that [`look_ahead`](Self::look_ahead) has found, if `slots` fit there and it is free still; `false` otherwise.
    ///
    /// After `true` the next [`alloc`](Self::alloc) of at most `slots` succeeds.
    ///
    /// # Cost
    ///
    /// O(the slots that are looked for / 64).
    pub fn skip(&mut self, slots: u32) -> bool {
        let fits = |run: &SlotRange| run.slots >= slots && self.is_free(SlotRange::new(run.start.0, slots));
        let Some(run) = self.scan.found.into_iter().chain([self.scan.best]).find(fits) else { return false };
        self.head = run.start.0;
        self.tail = run.start.0 + slots;
        true
    }

    /// Whether a run of `slots` has been found and is free still.
    fn has_found(&self, slots: u32) -> bool {
        self.scan.found.is_some_and(|run| run.slots >= slots && self.is_free(SlotRange::new(run.start.0, slots)))
    }

    fn is_free(&self, range: SlotRange) -> bool {
        masks(range).all(|(index, mask, _)| self.words[index].used & mask == 0)
    }

    /// Where the run of free slots at the head ends, if neither that one is of `slots` slots nor, where all is free up to the end, the one at the
    /// first slot. It does not depend on how far `tail` has been moved.
    #[inline]
    fn blocked_at(&self, slots: u32) -> Option<u32> {
        let end = self.free_until(self.tail, self.head.saturating_add(slots)).min(self.slots);
        let is_blocked = end - self.head < slots && (end < self.slots || self.free_until(0, slots) < slots);
        is_blocked.then_some(end)
    }

    fn look_at_word(&mut self, slots: u32) {
        let Self { words, scan, .. } = self;
        let (used, first) = (words[scan.word as usize].used, scan.word * 64);
        if scan.slots == 0 {
            scan.run = first;
        }
        let carried = SlotRange::new(scan.run, scan.slots + used.trailing_zeros());
        let within = longest_run(used);
        let within = SlotRange::new(first + within.start.0, within.slots);
        for run in [carried, within] {
            if run.slots > scan.best.slots && scan.best.slots < slots {
                scan.best = run;
            }
        }
        if used == 0 {
            scan.slots += 64;
        } else {
            (scan.run, scan.slots) = (first + 64 - used.leading_zeros(), used.leading_zeros());
        }
        scan.word += 1;
        if scan.word * 64 >= self.slots {
            // A run does not go on over the end.
            (scan.word, scan.slots) = (0, 0);
        }
        scan.left -= 1;
        if scan.best.slots >= slots || scan.left == 0 {
            (scan.left, scan.found) = (0, (scan.best.slots > 0).then_some(scan.best));
        }
    }
}

/// The first of the longest runs of clear bits.
fn longest_run(used: u64) -> SlotRange {
    // A bit stays set as long as it begins a run that is longer than `slots`.
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
