//! RPCs to cancel at the server. A cancel is repeated, since it has no answer and may be lost.

use nebula_nic::{Span, Timestamp, TransferId};
use std::collections::VecDeque;

/// Pauses before each repetition, unless the server answers the RPC first.
const AGAIN: [Span; 2] = [Span::from_ms(1), Span::from_ms(8)];
const REPEATED_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unwanted {
    pub(super) tid: TransferId,
    pub(super) stamp_ns: u64,
    said: u8,
}

#[derive(Debug, Default)]
pub(super) struct Unwanteds {
    due: VecDeque<Unwanted>,
    later: VecDeque<(Timestamp, Unwanted)>,
}

impl Unwanteds {
    pub(super) fn add(&mut self, tid: TransferId, stamp_ns: u64) {
        self.due.push_back(Unwanted { tid, stamp_ns, said: 0 });
    }

    #[inline]
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.later.is_empty()
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.later.iter().map(|&(at, _)| at).min()
    }

    #[inline]
    pub(super) fn keep_time(&mut self, now: Timestamp) {
        let Self { due, later } = self;
        later.retain(|&(at, unwanted)| {
            if at <= now {
                due.push_back(unwanted);
            }
            at > now
        });
    }

    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Unwanted> {
        let unwanted = self.due.pop_front()?;
        let again = AGAIN.get(usize::from(unwanted.said)).filter(|_| self.later.len() < REPEATED_MAX);
        self.later.extend(again.map(|&after| (now + after, Unwanted { said: unwanted.said + 1, ..unwanted })));
        Some(unwanted)
    }

    pub(super) fn answered(&mut self, tid: TransferId) {
        self.due.retain(|unwanted| unwanted.tid != tid);
        self.later.retain(|(_, unwanted)| unwanted.tid != tid);
    }

    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.later.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_three_times_unless_the_rpc_was_answered() {
        let (mut unwanteds, mut now, mut said) = (Unwanteds::default(), Timestamp::ZERO, Vec::new());
        unwanteds.add(TransferId(1), 10);
        unwanteds.add(TransferId(2), 20);
        while !unwanteds.is_empty() {
            now = unwanteds.poll_timeout().unwrap_or(now);
            unwanteds.keep_time(now);
            while let Some(unwanted) = unwanteds.pop(now) {
                said.push((now, unwanted.tid.0, unwanted.stamp_ns));
            }
            unwanteds.answered(TransferId(2));
        }
        let [first, second] = AGAIN;
        let at = |span: Span| (Timestamp::ZERO + span, 1, 10);
        assert_eq!(said, [at(Span::ZERO), (Timestamp::ZERO, 2, 20), at(first), at(first + second)]);
    }

    #[test]
    fn of_many_each_is_said_once_and_some_again() {
        let mut unwanteds = Unwanteds::default();
        (0..1000).for_each(|tid| unwanteds.add(TransferId(tid), 0));
        assert_eq!(std::iter::from_fn(|| unwanteds.pop(Timestamp::ZERO)).count(), 1000);
        unwanteds.keep_time(Timestamp::ZERO + AGAIN[0]);
        assert_eq!(std::iter::from_fn(|| unwanteds.pop(Timestamp::ZERO)).count(), REPEATED_MAX);
    }
}
