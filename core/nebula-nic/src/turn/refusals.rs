//! How many RPCs an engine refuses in a turn: few enough that the others do not wait for it.
//!
//! A NACK costs the server some tens of nanoseconds over shared memory and some hundreds over a
//! network, and clients that ignore NACKs can cause any number of them. So an engine spends at most
//! a sixteenth of its time on refusals. Further requests stay unread in their client's ring, or are
//! lost on the network, and their clients send them again.

use crate::time::{Span, Timestamp};

/// The time that earns one refusal: sixteen times its cost.
const EACH: Span = Span::from_ns(3_200);
const EACH_IN_MEMORY: Span = Span::from_ns(640);
/// The most refusals that can be saved up, such as for a burst that meets a full queue.
const TOGETHER: u32 = 64;
/// Refusals kept for sources that ask for less than their share, which get a NACK at once.
const KEPT: u32 = 16;
/// Once the others are used up, so many are earned before one is given. Requests that cannot be
/// refused are not read, and reading a datagram of many RPCs is not worth two refusals.
const AGAIN: u32 = 16;
/// The most packets that are turned away in a turn, unless time bounds it.
const TURNED_AWAY_MAX: u32 = 64;

/// The decision about a refusal: whether its sender gets a NACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It gets one.
    Answered,
    /// There is no time for one: the request stays unread, or is lost.
    Silent,
}

/// The refusals of an engine that its time allows.
#[derive(Clone, Debug)]
pub struct Refusals {
    each: Span,
    left: u32,
    since: Timestamp,
    turned_away: u32,
}

impl Refusals {
    /// The time that earns one refusal, over a transport that makes system calls or does not.
    #[must_use]
    pub const fn time_each(makes_system_calls: bool) -> Span {
        if makes_system_calls { EACH } else { EACH_IN_MEMORY }
    }

    /// As many as can be saved up, and one more each `each`.
    #[must_use]
    pub const fn new(each: Span) -> Self {
        Self { each, left: TOGETHER, since: Timestamp::ZERO, turned_away: 0 }
    }

    /// The time that earns one.
    #[must_use]
    pub const fn each(&self) -> Span {
        self.each
    }

    /// Begins a turn, in which none was turned away.
    #[inline(always)]
    pub fn begin_turn(&mut self) {
        self.turned_away = 0;
    }

    /// Whether only those are left that are kept for light sources.
    #[must_use]
    #[inline(always)]
    pub const fn is_used_up(&self) -> bool {
        self.left <= KEPT
    }

    /// Whether an RPC that is to be refused gets a NACK. A source that `asks_little` may also use
    /// the kept refusals. Computes nothing as long as there are others.
    #[inline]
    pub fn judge(&mut self, now: Timestamp, asks_little: bool) -> Refusal {
        if self.left <= KEPT {
            self.earn(now);
        }
        if self.left > if asks_little { 0 } else { KEPT } { Refusal::Answered } else { Refusal::Silent }
    }

    #[inline(never)]
    fn earn(&mut self, now: Timestamp) {
        let earned = (now - self.since).as_ps() / self.each.as_ps().max(1);
        let wanted = KEPT - self.left;
        if earned >= (wanted + AGAIN).into() {
            let left = u64::from(self.left).saturating_add(earned).min(TOGETHER.into());
            (self.left, self.since) = (u32::try_from(left).unwrap_or(TOGETHER), now);
        } else if wanted > 0 {
            let earned = u32::try_from(earned).unwrap_or(wanted).min(wanted);
            (self.left, self.since) = (self.left + earned, self.since + self.each * u64::from(earned));
        }
    }

    /// Whether more packets may be turned away in this turn, before the waiting RPCs are served.
    #[must_use]
    #[inline]
    pub const fn may_turn_away(&self) -> bool {
        self.turned_away < TURNED_AWAY_MAX
    }

    /// An RPC got a NACK.
    #[inline]
    pub fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.turned_away += 1;
    }

    /// So many packets were turned away without an answer.
    #[inline]
    pub fn count_unanswered(&mut self, packets: u32) {
        self.turned_away += packets;
    }

    /// The packets turned away in this turn.
    #[must_use]
    #[inline(always)]
    pub const fn turned_away(&self) -> u32 {
        self.turned_away
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn answered(refusals: &mut Refusals, moments: impl Iterator<Item = Timestamp>) -> usize {
        let mut answered = 0;
        for now in moments {
            for _ in 0..1000 {
                if refusals.judge(now, false) == Refusal::Answered {
                    refusals.count();
                    answered += 1;
                }
            }
        }
        answered
    }

    fn both(refusals: &mut Refusals, now: Timestamp) -> [Refusal; 2] {
        [false, true].map(|asks_little| refusals.judge(now, asks_little))
    }

    #[test]
    fn some_come_together_and_then_one_a_while() {
        let mut refusals = Refusals::new(EACH);
        let start = Timestamp::ZERO + Span::from_ms(1);
        assert_eq!(answered(&mut refusals, [start, start].into_iter()), (2 * TOGETHER - 2 * KEPT) as usize);
        let later = answered(&mut refusals, (1..=1000).map(|us| start + Span::from_us(us)));
        assert!((250..=313).contains(&later), "{later} in a millisecond");
    }

    #[test]
    fn once_used_up_they_are_given_several_together() {
        let mut refusals = Refusals::new(EACH);
        let start = Timestamp::ZERO + Span::from_ms(1);
        answered(&mut refusals, [start, start].into_iter());
        let each_us = (1..=1000).map(|us| answered(&mut refusals, [start + Span::from_us(us)].into_iter()));
        let given: Vec<_> = each_us.filter(|&answered| answered > 0).collect();
        assert!(given.len() > 10 && given.iter().all(|&answered| answered >= AGAIN as usize), "{given:?}");
    }

    #[test]
    fn what_was_not_used_does_not_pile_up() {
        let mut refusals = Refusals::new(EACH_IN_MEMORY);
        let start = Timestamp::ZERO + Span::from_ms(5_000);
        assert_eq!(answered(&mut refusals, [start].into_iter()), (2 * TOGETHER - 2 * KEPT) as usize);
        refusals.begin_turn();
        refusals.count_unanswered(3);
        assert_eq!((refusals.turned_away(), refusals.is_used_up()), (3, true));
    }

    #[test]
    fn some_are_kept_for_those_who_ask_for_little() {
        let mut refusals = Refusals::new(EACH);
        let start = Timestamp::ZERO;
        assert_eq!(answered(&mut refusals, [start].into_iter()), (TOGETHER - KEPT) as usize);
        for _ in 0..KEPT {
            assert_eq!(both(&mut refusals, start), [Refusal::Silent, Refusal::Answered]);
            refusals.count();
        }
        assert_eq!(both(&mut refusals, start), [Refusal::Silent; 2]);
        // Refusals earned now are for them first.
        let later = start + EACH * u64::from(KEPT);
        assert_eq!(both(&mut refusals, later), [Refusal::Silent, Refusal::Answered]);
    }
}
