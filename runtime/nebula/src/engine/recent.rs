//! The last seconds of an engine: its busy time, and its highest queue and buffer use.

use nebula_nic::{Span, Timestamp};

/// Maxima are kept for a period of this length and the one before.
const STRETCH: Span = Span::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
struct Highest {
    queue_depth: u32,
    slots_used: u32,
}

#[derive(Debug, Default)]
pub(super) struct Recent {
    elapsed_ps: u64,
    busy_ps: u64,
    current: Highest,
    before: Highest,
    since: Timestamp,
}

impl Recent {
    #[inline(always)]
    pub(super) fn begin_turn(&mut self, elapsed: Span) {
        self.elapsed_ps = elapsed.as_ps();
    }

    #[inline(always)]
    pub(super) fn end_turn(&mut self, work: usize, waiting: u32) {
        self.busy_ps += if work > 0 { self.elapsed_ps } else { 0 };
        self.current.queue_depth = self.current.queue_depth.max(waiting);
    }

    /// The page is written at `now`, with `slots_used` slots in use.
    pub(super) fn look(&mut self, now: Timestamp, slots_used: u32) {
        if now - self.since >= STRETCH {
            self.before = std::mem::take(&mut self.current);
            self.since = now;
        }
        self.current.slots_used = self.current.slots_used.max(slots_used);
    }

    pub(super) fn queue_depth(&self) -> u32 {
        self.current.queue_depth.max(self.before.queue_depth)
    }

    pub(super) fn slots_used(&self) -> u32 {
        self.current.slots_used.max(self.before.slots_used)
    }

    pub(super) fn busy_ps(&self) -> u64 {
        self.busy_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_remembered_for_a_second_and_forgotten_after_two() {
        let at = |ms: u64| Timestamp::ZERO + Span::from_ms(ms);
        let mut recent = Recent::default();
        recent.look(at(1000), 3);
        recent.end_turn(1, 40);
        recent.look(at(1500), 90);
        recent.look(at(2600), 1);
        assert_eq!((recent.queue_depth(), recent.slots_used()), (40, 90));
        recent.look(at(3700), 2);
        assert_eq!((recent.queue_depth(), recent.slots_used()), (0, 2));
    }

    #[test]
    fn only_turns_that_did_something_are_busy() {
        let mut recent = Recent::default();
        for (elapsed_ns, work) in [(100, 0), (200, 1), (400, 5), (800, 0)] {
            recent.begin_turn(Span::from_ns(elapsed_ns));
            recent.end_turn(work, 0);
        }
        assert_eq!(recent.busy_ps(), 600_000);
    }
}
