//! How many RPCs an engine refuses in a turn: so few that those it serves do not wait for it.
//!
//! A NACK costs the server some tens of nanoseconds over shared memory and some hundreds over a
//! network. Clients that do not heed NACKs can ask for any number of them. So a sixteenth of the
//! time may go into refusals, and what is beyond stays where it is: in the ring of the client that
//! wrote it, unread, or on the network, lost. A client that backs off sends it again.

use nebula_nic::{Span, Timestamp};

/// Time between two refusals in the long run: sixteen times what one costs.
const EACH: Span = Span::from_ns(3_200);
const EACH_IN_MEMORY: Span = Span::from_ns(640);
/// Refusals that may come together, such as those of a burst that meets a full queue.
const TOGETHER: u32 = 64;
/// Of which so many are kept for sources that ask for less than their share: they are told at once,
/// and need not wait and ask again.
const KEPT: u32 = 16;
/// Once the others are used up, so many are earned before one is given: what cannot be refused is
/// not even read, and a datagram of many RPCs is not to be read for the sake of two of them.
const AGAIN: u32 = 16;

/// The refusals of an engine.
#[derive(Debug)]
pub(crate) struct Refusals {
    each: Span,
    left: u32,
    /// Since when none has been earned.
    since: Timestamp,
    /// What was turned away in this turn, answered or not, in packets.
    turned_away: u32,
}

impl Refusals {
    pub(crate) fn new(makes_system_calls: bool) -> Self {
        let each = if makes_system_calls { EACH } else { EACH_IN_MEMORY };
        Self { each, left: TOGETHER, since: Timestamp::ZERO, turned_away: 0 }
    }

    /// Begins a turn.
    #[inline(always)]
    pub(super) fn begin_turn(&mut self) {
        self.turned_away = 0;
    }

    /// Whether none is left but those that are kept, as far as was last worked out.
    #[inline(always)]
    pub(crate) fn is_used_up(&self) -> bool {
        self.left <= KEPT
    }

    /// Whether another RPC may be refused, and its client told; one of a source that `asks_little`
    /// also where only kept ones are left. Nothing is worked out as long as there are others.
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

    /// An RPC is refused, and its client told.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.turned_away += 1;
    }

    /// So many packets are turned away and nobody is told.
    #[inline]
    pub(crate) fn count_unanswered(&mut self, packets: u32) {
        self.turned_away += packets;
    }

    /// Packets turned away in this turn.
    #[inline(always)]
    pub(crate) fn turned_away(&self) -> u32 {
        self.turned_away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refusals answered of 1,000 at each of `moments`.
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
        // What is earned then is for them first.
        let later = start + EACH * u64::from(KEPT);
        assert!(!refusals.has_left(later, false) && refusals.has_left(later, true));
    }
}
