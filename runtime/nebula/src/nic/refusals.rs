//! How many RPCs an engine refuses in a turn: few enough that the others do not wait for it.
//!
//! A NACK costs the server some tens of nanoseconds over shared memory and some hundreds over a
//! network, and clients that ignore NACKs can cause any number of them. So an engine spends at most
//! a sixteenth of its time on refusals. Further requests stay unread in their client's ring, or are
//! lost on the network, and their clients send them again.

use nebula_nic::{Span, Timestamp};

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

#[derive(Debug)]
pub(crate) struct Refusals {
    each: Span,
    left: u32,
    since: Timestamp,
    turned_away: u32,
}

impl Refusals {
    pub(crate) fn new(makes_system_calls: bool) -> Self {
        let each = if makes_system_calls { EACH } else { EACH_IN_MEMORY };
        Self { each, left: TOGETHER, since: Timestamp::ZERO, turned_away: 0 }
    }

    #[inline(always)]
    pub(super) fn begin_turn(&mut self) {
        self.turned_away = 0;
    }

    #[inline(always)]
    pub(crate) fn is_used_up(&self) -> bool {
        self.left <= KEPT
    }

    /// Whether another RPC may be refused. A source that `asks_little` may also use the kept
    /// refusals. Computes nothing as long as there are others.
    #[inline]
    pub(crate) fn has_left(&mut self, now: Timestamp, asks_little: bool) -> bool {
        if self.left <= KEPT {
            self.earn(now);
        }
        self.left > if asks_little { 0 } else { KEPT }
    }

    #[inline(never)]
    fn earn(&mut self, now: Timestamp) {
        let earned = (now - self.since).as_ps() / self.each.as_ps();
        let wanted = KEPT - self.left;
        if earned >= (wanted + AGAIN).into() {
            let left = u64::from(self.left).saturating_add(earned).min(TOGETHER.into());
            (self.left, self.since) = (u32::try_from(left).unwrap_or(TOGETHER), now);
        } else if wanted > 0 {
            let earned = u32::try_from(earned).unwrap_or(wanted).min(wanted);
            (self.left, self.since) = (self.left + earned, self.since + self.each * u64::from(earned));
        }
    }

    #[inline]
    pub(crate) fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.turned_away += 1;
    }

    #[inline]
    pub(crate) fn count_unanswered(&mut self, packets: u32) {
        self.turned_away += packets;
    }

    #[inline(always)]
    pub(crate) fn turned_away(&self) -> u32 {
        self.turned_away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(refusals: &mut Refusals, moments: impl Iterator<Item = Timestamp>) -> usize {
        let mut answered = 0;
        for now in moments {
            for _ in 0..1000 {
                if refusals.has_left(now, false) {
                    refusals.count();
                    answered += 1;
                }
            }
        }
        answered
    }

    #[test]
    fn some_come_together_and_then_one_a_while() {
        let mut refusals = Refusals::new(true);
        let start = Timestamp::ZERO + Span::from_ms(1);
        assert_eq!(answered(&mut refusals, [start, start].into_iter()), (2 * TOGETHER - 2 * KEPT) as usize);
        let later = answered(&mut refusals, (1..=1000).map(|us| start + Span::from_us(us)));
        assert!((250..=313).contains(&later), "{later} in a millisecond");
    }

    #[test]
    fn once_used_up_they_are_given_several_together() {
        let mut refusals = Refusals::new(true);
        let start = Timestamp::ZERO + Span::from_ms(1);
        answered(&mut refusals, [start, start].into_iter());
        let each_us = (1..=1000).map(|us| answered(&mut refusals, [start + Span::from_us(us)].into_iter()));
        let given: Vec<_> = each_us.filter(|&answered| answered > 0).collect();
        assert!(given.len() > 10 && given.iter().all(|&answered| answered >= AGAIN as usize), "{given:?}");
    }

    #[test]
    fn what_was_not_used_does_not_pile_up() {
        let mut refusals = Refusals::new(false);
        let start = Timestamp::ZERO + Span::from_ms(5_000);
        assert_eq!(answered(&mut refusals, [start].into_iter()), (2 * TOGETHER - 2 * KEPT) as usize);
        refusals.begin_turn();
        refusals.count_unanswered(3);
        assert_eq!((refusals.turned_away(), refusals.is_used_up()), (3, true));
    }

    #[test]
    fn some_are_kept_for_those_who_ask_for_little() {
        let mut refusals = Refusals::new(true);
        let start = Timestamp::ZERO;
        assert_eq!(answered(&mut refusals, [start].into_iter()), (TOGETHER - KEPT) as usize);
        for _ in 0..KEPT {
            assert!(!refusals.has_left(start, false) && refusals.has_left(start, true));
            refusals.count();
        }
        assert!(!refusals.has_left(start, true));
        // Refusals earned now are for them first.
        let later = start + EACH * u64::from(KEPT);
        assert!(!refusals.has_left(later, false) && refusals.has_left(later, true));
    }
}
