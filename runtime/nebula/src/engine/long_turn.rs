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

use nebula_nic::Span;

/// Percent of the SLO for a turn and the one before it; the rest is for answers in flight, the
/// client, and surprises.
const BOTH_PERCENT: u64 = 70;
/// Percent of the SLO for which a turn serves: a longer one would leave nothing to the next.
const SERVES_PERCENT: u64 = 40;
/// Percent of the SLO for which a turn may always serve.
const LEAST_PERCENT: u64 = 10;
/// The queue has the SLO divided by this, for requests that were not served when read.
pub(super) const QUEUE_SHARE: u64 = 8;
/// The last turn has one part in so many of the mean: alone, each short turn would lead to a long
/// one.
const LAST_SHARE: u64 = 4;
pub(super) const REFUSALS_PER_LOOK: u32 = 16;

#[derive(Debug)]
pub(super) struct LongTurn {
    slo: Span,
    last: Span,
    mean: Span,
}

impl LongTurn {
    pub(super) fn new(slo: Span) -> Self {
        Self { slo, last: Span::ZERO, mean: Span::ZERO }
    }

    /// How long a turn may read requests, to serve or refuse them, so that none grows old unread.
    pub(super) fn ingress(&self) -> Span {
        self.percent(BOTH_PERCENT)
    }

    /// How long after its beginning the next turn may serve what it reads.
    pub(super) fn serves(&self) -> Span {
        let before = self.last.max(self.mean).as_ps() + self.slo.as_ps() / QUEUE_SHARE;
        Span::from_ps(self.percent(BOTH_PERCENT).as_ps().saturating_sub(before)).min(self.percent(SERVES_PERCENT))
    }

    pub(super) fn serves_least(&self) -> Span {
        self.percent(LEAST_PERCENT)
    }

    fn percent(&self, percent: u64) -> Span {
        Span::from_ps(self.slo.as_ps() / 100 * percent)
    }

    /// `None` if the turn found nothing: new requests have not waited for it.
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
