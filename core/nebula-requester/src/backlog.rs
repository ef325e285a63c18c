//! Admission at the client: *would an RPC that waits here for room still keep the SLO?*
//!
//! A server refuses what would miss its SLO, but sees only what has reached it. A client sends no
//! more than its ring or window holds, and further RPCs wait here. If the ring is shorter than the
//! server's bound, the server has nothing to refuse, and without a bound here this queue grows
//! under overload until every answer is late.
//!
//! ```text
//!    waiting here ─▶ ring or window, full ─▶ the server's queue ─▶ one answer per interval
//!    └── ahead ───────────────────────────────────────────────┘
//! ```
//!
//! Answers come at intervals, whatever limits them: the server's workers, other clients, the
//! window. So the RPC that has `q` ahead is answered after `q` intervals, and the server's own rule
//! ([`QueueRule`]) for one worker bounds `q`. Refusals count as answers, since they make room too.
//! An interval is measured only while RPCs wait here: otherwise it may be the time between two
//! calls.

use nebula_nic::time::{Span, Timestamp};
use nebula_nic::{NackReason, QueueRule};

/// Answers in one measurement of the interval.
const WINDOW: u32 = 32;
/// A measurement counts 1 / 4, the mean so far the rest.
const WEIGHT: u64 = 4;

/// Decides which RPCs wait at a client, and which it refuses at once.
///
/// Ask only for an RPC that has to wait for room: one that can be sent is the server's to refuse.
/// Ask when it begins to wait, and again while it is the first that waits, since the server may
/// have become slower. O(1), no allocation.
///
/// # Examples
///
/// ```
/// use nebula_nic::{NackReason, Span, Timestamp};
/// use nebula_requester::Backlog;
///
/// let mut backlog = Backlog::new(Span::from_us(1000));
/// for answer in 0..=32 {
///     backlog.handle_answers(Timestamp::ZERO + Span::from_us(10) * answer, 1, true);
/// }
/// // 70 % of the SLO are 70 answers at intervals of 10 us, less their deviation.
/// assert_eq!(backlog.bound(), Some(52));
/// assert_eq!(backlog.refusal(Span::ZERO, 51), None);
/// assert_eq!(backlog.refusal(Span::ZERO, 52), Some(NackReason::QueueBound));
/// // After half of that time, half as many may be ahead.
/// assert_eq!(backlog.refusal(Span::from_us(350), 25), None);
/// assert!(backlog.refusal(Span::from_us(350), 26).is_some());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    rule: QueueRule,
    /// The mean time between two answers; `None` until one is measured.
    interval: Option<Span>,
    /// RPCs that may be ahead of one that has not waited.
    bound: u32,
    /// The measurement's beginning and answers; `None` while nothing waits.
    window: Option<(Timestamp, u32)>,
    /// Whether the next measurement is the first after a time without waiting RPCs.
    is_first: bool,
}

impl Backlog {
    /// For a server that keeps `slo`. With [`Span::ZERO`], which is none, nothing is refused.
    #[must_use]
    pub const fn new(slo: Span) -> Self {
        let rule = QueueRule { slo, workers: 1, in_worker_queues: 0 };
        Self { rule, interval: None, bound: u32::MAX, window: None, is_first: true }
    }

    /// Notes that `answers` RPCs have ended at `now`, refusals included, and whether RPCs wait
    /// here (`is_full`). Report a turn without answers too, if nothing waits any more.
    #[inline]
    pub fn handle_answers(&mut self, now: Timestamp, answers: u32, is_full: bool) {
        if !is_full {
            (self.window, self.is_first) = (None, true);
            return;
        }
        let Some((began, before)) = self.window else {
            self.window = Some((now, 0));
            return;
        };
        let count = before.saturating_add(answers);
        if count < WINDOW {
            self.window = Some((began, count));
            return;
        }
        self.window = Some((now, 0));
        self.measure((now - began) / u64::from(count));
    }

    #[cold]
    fn measure(&mut self, sample: Span) {
        let was_first = core::mem::replace(&mut self.is_first, false);
        let interval = match self.interval {
            Some(mean) if !was_first => Span::from_ps((mean.as_ps() * (WEIGHT - 1) + sample.as_ps()) / WEIGHT),
            _ => sample,
        };
        self.interval = Some(interval);
        self.bound = self.rule.bound(interval.max(Span::from_ps(1)));
    }

    /// The reason to refuse an RPC that has waited here for `waited`, if there is one, while
    /// `ahead` others wait here ahead of it or are outstanding. It is the server's reason for an
    /// RPC that would wait too long.
    #[must_use]
    #[inline]
    pub fn refusal(&self, waited: Span, ahead: u32) -> Option<NackReason> {
        let most = self.rule.time().as_ps();
        if most == 0 {
            return None;
        }
        let each = most.div_ceil(self.bound.into());
        let expected = waited.as_ps().saturating_add(each.saturating_mul(ahead.into()));
        // Until an interval is measured, only its own time tells.
        let late = if self.interval.is_some() { expected >= most } else { waited.as_ps() >= most };
        late.then_some(NackReason::QueueBound)
    }

    /// RPCs that may be outstanding or wait, if the interval is known.
    #[must_use]
    pub fn bound(&self) -> Option<u32> {
        self.interval.map(|_| self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLO: Span = Span::from_ms(1);

    /// Answers at equal intervals while others wait.
    fn answer(backlog: &mut Backlog, now: &mut Timestamp, interval: Span, answers: u32) {
        for _ in 0..answers {
            *now += interval;
            backlog.handle_answers(*now, 1, true);
        }
    }

    #[test]
    fn without_an_slo_nothing_is_refused() {
        let (mut backlog, mut now) = (Backlog::new(Span::ZERO), Timestamp::ZERO);
        answer(&mut backlog, &mut now, SLO, 100);
        assert_eq!(backlog.refusal(Span::from_secs(9), u32::MAX), None);
    }

    #[test]
    fn until_an_interval_is_known_only_the_time_waited_counts() {
        let backlog = Backlog::new(SLO);
        assert_eq!((backlog.bound(), backlog.refusal(Span::ZERO, u32::MAX)), (None, None));
        assert_eq!(backlog.refusal(SLO / 100 * 69, 9), None);
        assert!(backlog.refusal(SLO / 100 * 70, 0).is_some());
    }

    #[test]
    fn the_bound_follows_the_intervals_within_some_windows() {
        let (mut backlog, mut now) = (Backlog::new(SLO), Timestamp::ZERO);
        answer(&mut backlog, &mut now, Span::from_us(10), 33);
        let fast = backlog.bound().unwrap();
        answer(&mut backlog, &mut now, Span::from_us(100), 16 * WINDOW);
        let slow = backlog.bound().unwrap();
        assert!(fast > 45 && (2..=4).contains(&slow), "{fast}, {slow}");
        // An RPC that was let in behind the fast ones does not go on waiting behind the slow ones.
        assert!(backlog.refusal(Span::from_us(300), slow).is_some());
    }

    #[test]
    fn the_time_between_two_calls_is_no_interval() {
        let (mut backlog, mut now) = (Backlog::new(SLO), Timestamp::ZERO);
        answer(&mut backlog, &mut now, Span::from_us(10), 33);
        let before = backlog.bound();
        for _ in 0..100 {
            now += Span::from_ms(5);
            backlog.handle_answers(now, 1, false);
        }
        assert_eq!(backlog.bound(), before);
        // After such a time one measurement replaces what was known.
        answer(&mut backlog, &mut now, Span::from_us(100), 33);
        assert!(backlog.bound().is_some_and(|bound| bound <= 4), "{backlog:?}");
    }

    #[test]
    fn answers_of_one_look_count_each() {
        let (mut one_by_one, mut together, mut now) = (Backlog::new(SLO), Backlog::new(SLO), Timestamp::ZERO);
        answer(&mut one_by_one, &mut now, Span::from_us(10), 33);
        for look in 0..=8 {
            together.handle_answers(Timestamp::ZERO + Span::from_us(40) * look, 4, true);
        }
        assert_eq!(one_by_one.bound(), together.bound());
    }
}
