//! Streams of accesses that are equally far apart, in the order of time.
//!
//! Many streams run at the same time: copies and write-backs of many cores, fetches of several
//! RPCs. All have the same gap, so a stream that has just made an access is the last to be due
//! again, and a FIFO keeps them in the order of time.

use nebula_nic::{Span, Timestamp};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Streams<T> {
    gap: Span,
    /// By the time of their next access.
    due: VecDeque<Stream<T>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream<T> {
    pub(super) at: Timestamp,
    /// Remaining accesses, including the next one.
    left: u32,
    pub(super) note: T,
}

impl<T> Stream<T> {
    pub(super) const fn is_last(&self) -> bool {
        self.left == 1
    }
}

impl<T: Copy> Streams<T> {
    pub(super) fn new(gap: Span) -> Self {
        Self { gap, due: VecDeque::with_capacity(256) }
    }

    /// Begins a stream whose first of `accesses` is due at `now`. No access is due before `now`.
    #[inline]
    pub(super) fn begin(&mut self, now: Timestamp, accesses: u32, note: T) {
        debug_assert!(accesses > 0 && self.due.front().is_none_or(|next| now <= next.at));
        self.due.push_front(Stream { at: now, left: accesses, note });
    }

    #[inline]
    pub(super) fn next_ps(&self) -> u64 {
        self.due.front().map_or(u64::MAX, |next| next.at.as_ps())
    }

    /// Takes the next access; the caller [resumes](Self::resume) its stream unless it was the last.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Stream<T>> {
        self.due.pop_front()
    }

    #[inline]
    pub(super) fn resume(&mut self, stream: Stream<T>) {
        let next = Stream { at: stream.at + self.gap, left: stream.left - 1, ..stream };
        debug_assert!(next.left > 0 && self.due.back().is_none_or(|last| last.at <= next.at));
        self.due.push_back(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn accesses_of_overlapping_streams_come_in_the_order_of_time() {
        let mut rng = Seed(2).stream("streams");
        let mut streams = Streams::new(Span::from_ps(10));
        let mut expected = Vec::new();
        let mut made = Vec::new();
        let mut begins_ps = 0;
        for stream in 0..500_u32 {
            begins_ps += rng.below(25);
            while streams.next_ps() < begins_ps {
                make_next(&mut streams, &mut made);
            }
            let accesses = 1 + u32::try_from(rng.below(12)).unwrap();
            expected.extend((0..accesses).map(|access| (begins_ps + 10 * u64::from(access), stream)));
            streams.begin(Timestamp::from_ps(begins_ps), accesses, stream);
        }
        while streams.next_ps() < u64::MAX {
            make_next(&mut streams, &mut made);
        }
        assert!(made.is_sorted_by_key(|(at_ps, _)| *at_ps));
        made.sort_unstable();
        expected.sort_unstable();
        assert_eq!(made, expected);
    }

    fn make_next(streams: &mut Streams<u32>, made: &mut Vec<(u64, u32)>) {
        let stream = streams.pop().unwrap();
        made.push((stream.at.as_ps(), stream.note));
        if !stream.is_last() {
            streams.resume(stream);
        }
    }
}
