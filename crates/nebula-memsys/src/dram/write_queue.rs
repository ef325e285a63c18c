//! Writes that wait at a channel while reads go first: first in, first out, bounded.

use super::place::Place;

#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) place: Place,
    /// When it arrived.
    pub(super) at_ps: u64,
}

pub(super) struct WriteQueue {
    ring: Box<[Waiting]>,
    head: usize,
    len: usize,
}

impl WriteQueue {
    pub(super) fn new(entries: u32) -> Self {
        let empty = Waiting { place: Place { bank: 0, row: 0 }, at_ps: 0 };
        Self { ring: vec![empty; entries as usize].into(), head: 0, len: 0 }
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The most writes that can wait.
    #[inline(always)]
    pub(super) const fn room(&self) -> usize {
        self.ring.len()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == self.ring.len()
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<Waiting> {
        (self.len > 0).then(|| self.ring[self.head])
    }

    /// Appends a write; the caller has made room.
    #[inline(always)]
    pub(super) fn push(&mut self, waiting: Waiting) {
        debug_assert!(!self.is_full(), "the caller makes room first");
        let at = self.wrapped(self.head + self.len);
        self.ring[at] = waiting;
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let first = self.first()?;
        self.head = self.wrapped(self.head + 1);
        self.len -= 1;
        Some(first)
    }

    const fn wrapped(&self, at: usize) -> usize {
        if at >= self.ring.len() { at - self.ring.len() } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_is_first_in_first_out_across_its_end() {
        let mut queue = WriteQueue::new(3);
        let mut model = VecDeque::new();
        for step in 0..100 {
            if step % 7 < 4 && !queue.is_full() {
                queue.push(Waiting { place: Place { bank: 0, row: step }, at_ps: 0 });
                model.push_back(step);
            } else {
                assert_eq!(queue.pop().map(|first| first.place.row), model.pop_front(), "step {step}");
            }
            assert_eq!((queue.len(), queue.is_full()), (model.len(), model.len() == 3), "step {step}");
            assert_eq!(queue.first().map(|first| first.place.row), model.front().copied(), "step {step}");
        }
    }
}
