//! Long turns, for a transport whose clients each cost system calls, however many requests they
//! have sent: a longer turn finds more requests of each client.
//!
//! A request waits unread for the rest of a turn, and is served in the next: both turns together
//! must keep the SLO. So a turn may serve for the SLO minus the turn before it. A burst after a
//! short turn is served completely; under overload turns settle at half of the SLO, minus the
//! shares of client and queue.
//!
//! If more arrives than the engine can even refuse, serving still gets a part of each turn. The
//! rest waits in the kernel: its RPCs are late, but some are served.

use crate::time::{Span, Timestamp};

/// Percent of the SLO for a turn and the one before it; the rest is for answers in flight, the
/// client, and surprises.
const BOTH_PERCENT: u64 = 70;
/// Percent of the SLO for which a turn serves: a longer one would leave nothing to the next.
const SERVES_PERCENT: u64 = 40;
/// Percent of the SLO for which a turn may always serve.
const LEAST_PERCENT: u64 = 10;
/// The queue has the SLO divided by this, for requests that were not served when read.
pub const QUEUE_SHARE: u64 = 8;
/// The last turn has one part in so many of the mean: alone, each short turn would lead to a long
/// one.
const LAST_SHARE: u64 = 4;
/// The most RPCs that a long turn serves.
pub const RPCS_MAX: u32 = 8192;
/// Packets turned away between two looks at the clock.
const REFUSALS_PER_LOOK: u32 = 16;

/// The lengths of the last turns, from which that of the next follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongTurn {
    slo: Span,
    last: Span,
    mean: Span,
}

impl LongTurn {
    /// No turn has been long.
    #[must_use]
    pub const fn new(slo: Span) -> Self {
        Self { slo, last: Span::ZERO, mean: Span::ZERO }
    }

    /// How long a turn may read requests, to serve or refuse them, so that none grows old unread.
    #[must_use]
    pub fn ingress(&self) -> Span {
        self.percent(BOTH_PERCENT)
    }

    /// How long after its beginning the next turn may serve what it reads.
    #[must_use]
    pub fn serves(&self) -> Span {
        let before = self.last.max(self.mean) + Span::from_ps(self.slo.as_ps() / QUEUE_SHARE);
        (self.percent(BOTH_PERCENT) - before).min(self.percent(SERVES_PERCENT))
    }

    /// For how long a turn may serve in any case.
    #[must_use]
    pub fn serves_least(&self) -> Span {
        self.percent(LEAST_PERCENT)
    }

    /// The bounds of the ingress of a turn that began at `began`, where an RPC takes `each`.
    #[must_use]
    pub fn bounds(&self, began: Timestamp, each: Span) -> Bounds {
        Bounds {
            serves_until_ps: (began + self.serves()).as_ps(),
            serves_least_ps: self.serves_least().as_ps(),
            each_ps: each.as_ps().max(1),
            takes_until_ps: (began + self.ingress()).as_ps(),
        }
    }

    fn percent(&self, percent: u64) -> Span {
        Span::from_ps(self.slo.as_ps() / 100 * percent)
    }

    /// Ends a turn of length `elapsed`, or `None` if it found nothing: new requests have not waited
    /// for it.
    pub fn end(&mut self, elapsed: Option<Span>) {
        self.last = elapsed.unwrap_or(Span::ZERO).min(self.slo);
        let mean = self.mean.as_ps();
        self.mean = Span::from_ps(mean - mean / LAST_SHARE + self.last.as_ps() / LAST_SHARE);
    }
}

/// Bounds of the ingress of a long turn, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Until when RPCs are served on arrival, and the least time for that.
    serves_until_ps: u64,
    serves_least_ps: u64,
    each_ps: u64,
    /// Until when packets are accepted or refused.
    takes_until_ps: u64,
}

impl Bounds {
    /// How many RPCs may be served on arrival at `now_ps`, after those that took `served_ps`.
    #[must_use]
    #[inline(always)]
    pub fn rpcs_left(&self, now_ps: u64, served_ps: u64) -> u64 {
        let left = self.serves_until_ps.saturating_sub(now_ps);
        left.max(self.serves_least_ps.saturating_sub(served_ps)) / self.each_ps
    }

    /// Whether more packets than `turned_away` may be turned away in this turn. Reads the clock
    /// for some of them.
    #[inline]
    pub fn may_turn_away(&self, turned_away: u32, now_ps: impl FnOnce() -> u64) -> bool {
        !turned_away.is_multiple_of(REFUSALS_PER_LOOK) || turned_away == 0 || now_ps() < self.takes_until_ps
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
    fn the_clock_ends_a_turn_and_is_read_for_few_of_the_packets_turned_away() {
        let bounds = LongTurn::new(us(1000)).bounds(Timestamp::from_ps(0) + us(5), us(10));
        let at = |time: Span, served: Span| bounds.rpcs_left(time.as_ps(), served.as_ps());
        assert_eq!([at(us(5), Span::ZERO), at(us(405), Span::ZERO), at(us(405), us(100))], [40, 10, 0]);
        let may = |turned_away, time: Span| bounds.may_turn_away(turned_away, || time.as_ps());
        assert!(may(16, us(704)) && !may(16, us(705)) && may(17, us(705)) && may(0, us(705)));
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
