//! Any number of pending events, in the order of time.
//!
//! A [`Calendar`](crate::calendar::Calendar) takes fewer instructions, but has one event for each
//! source.

use nebula_nic::Timestamp;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events of the same time happen in the order in which they were set. Each takes O(log events).
#[derive(Clone, Debug)]
pub(crate) struct Upcoming<E> {
    events: BinaryHeap<Entry<E>>,
    /// Events that were set so far.
    set: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Timestamp,
    number: u64,
    event: E,
}

impl<E> Upcoming<E> {
    pub(crate) const fn new() -> Self {
        Self { events: BinaryHeap::new(), set: 0 }
    }

    #[inline]
    pub(crate) fn next_ps(&self) -> u64 {
        self.events.peek().map_or(u64::MAX, |next| next.at.as_ps())
    }

    #[inline]
    pub(crate) fn set(&mut self, at: Timestamp, event: E) {
        self.events.push(Entry { at, number: self.set, event });
        self.set += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Timestamp, E)> {
        self.events.pop().map(|Entry { at, event, .. }| (at, event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed: a heap returns its greatest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_those_of_one_time_as_they_were_set() {
        let mut upcoming = Upcoming::new();
        for (at_ps, event) in [(5, 'b'), (9, 'd'), (5, 'c'), (2, 'a')] {
            upcoming.set(Timestamp::from_ps(at_ps), event);
        }
        assert_eq!(upcoming.next_ps(), 2);
        let popped: String = std::iter::from_fn(|| upcoming.pop()).map(|(_, event)| event).collect();
        assert_eq!((popped.as_str(), upcoming.next_ps()), ("abcd", u64::MAX));
    }
}
