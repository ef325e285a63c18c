//! Turns of a transport whose every client costs system calls, however much it has sent: the longer
//! a turn, the more of each client it finds.
//!
//! A request waits unread for the rest of a turn, and is served within the next one: both together
//! are to keep the SLO. So what a turn may serve for is the SLO less the turn before it. A burst
//! after a short turn is served whole; under overload turns settle at what is half of the SLO, less
//! what is kept for the client and the queue.
//!
//! Where more comes than can be refused, serving has a part of each turn all the same, and what a
//! turn does not reach waits in the kernel: what is served then is late, and not nothing.

use nebula_nic::Span;

/// Of the SLO, in percent, what a turn and the one before it may take together: the rest is for
/// answers under way, for the client, and for what nobody foresees.
const BOTH_PERCENT: u64 = 70;
/// Of the SLO, in percent, how long after it has begun a turn serves what it reads: a longer one
/// would leave nothing to the next.
const SERVES_PERCENT: u64 = 40;
/// Of the SLO, in percent, what a turn may serve for in any case.
const LEAST_PERCENT: u64 = 10;
/// Of the SLO, what the queue has of that: requests that were not served as they were read.
pub(super) const QUEUE_SHARE: u64 = 8;
/// Of the mean of turns, what the last one is: with the last one alone a long turn would follow
/// each short one.
const LAST_SHARE: u64 = 4;
/// Refusals between two looks at the clock.
pub(super) const REFUSALS_PER_LOOK: u32 = 16;

/// What a turn may take.
#[derive(Debug)]
pub(super) struct LongTurn {
    slo: Span,
    /// The last turn, and a mean of the last ones.
    last: Span,
    mean: Span,
}

impl LongTurn {
    /// Of a server with this SLO.
    pub(super) fn new(slo: Span) -> Self {
        Self { slo, last: Span::ZERO, mean: Span::ZERO }
    }

    /// How long a turn may take requests in, served or refused: what is left unread grows old, so
    /// all that is there unless that takes too long.
    pub(super) fn ingress(&self) -> Span {
        self.percent(BOTH_PERCENT)
    }

    /// How long after it has begun the next turn may serve what it reads.
    pub(super) fn serves(&self) -> Span {
        let before = self.last.max(self.mean).as_ps() + self.slo.as_ps() / QUEUE_SHARE;
        Span::from_ps(self.percent(BOTH_PERCENT).as_ps().saturating_sub(before)).min(self.percent(SERVES_PERCENT))
    }

    /// What it may serve for in any case.
    pub(super) fn serves_least(&self) -> Span {
        self.percent(LEAST_PERCENT)
    }

    fn percent(&self, percent: u64) -> Span {
        Span::from_ps(self.slo.as_ps() / 100 * percent)
    }

    /// A turn has taken `elapsed`; none where it found nothing: what came since then has not waited
    /// for it.
    pub(super) fn end(&mut self, elapsed: Option<Span>) {
        self.last = elapsed.unwrap_or(Span::ZERO).min(self.slo);
        let mean = self.mean.as_ps();
        self.mean = Span::from_ps(mean - mean / LAST_SHARE + self.last.as_ps() / LAST_SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    #[test]
    fn a_turn_and_the_one_before_it_keep_the_slo_together_and_settle() {
        let mut turn = LongTurn::new(us(1000));
        assert_eq!((turn.serves(), turn.ingress()), (us(400), us(700)));
        let mut before = Span::ZERO;
        for number in 0..50 {
            // Under overload a turn takes all that it may, the queue, and 40 us for system calls.
            let elapsed = turn.serves() + us(125 + 40);
            assert!((before + elapsed).as_ns() <= 850_000, "{before} and {elapsed}");
            if number > 30 {
                assert!(elapsed.as_ns().abs_diff(370_000) < 5_000, "{elapsed}");
            }
            turn.end(Some(elapsed));
            before = elapsed;
        }
    }

    #[test]
    fn little_is_served_after_a_pause_of_the_machine_and_all_is_forgotten_at_rest() {
        let mut turn = LongTurn::new(us(1000));
        turn.end(Some(us(50_000)));
        assert_eq!((turn.serves(), turn.serves_least()), (Span::ZERO, us(100)));
        (0..40).for_each(|_| turn.end(None));
        assert_eq!(turn.serves(), us(400));
    }
}
