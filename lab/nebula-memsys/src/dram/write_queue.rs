//! Writes that wait at a channel while reads go first: first in, first out, bounded.

use super::place::Place;

#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) place: Place,
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

    /// Removes the first `writes` writes, or all; the second part continues at the ring's start.
    #[inline(always)]
    pub(super) fn pop_up_to(&mut self, writes: u64) -> [&[Waiting]; 2] {
        let writes = usize::try_from(writes).map_or(self.len, |writes| writes.min(self.len));
        let (head, near) = (self.head, writes.min(self.ring.len() - self.head));
        self.head = self.wrapped(head + writes);
        self.len -= writes;
        [&self.ring[head..head + near], &self.ring[..writes - near]]
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
            if step % 11 == 10 {
                let parts = queue.pop_up_to(2);
                let popped: Vec<u32> = parts.into_iter().flatten().map(|waiting| waiting.place.row).collect();
                assert_eq!(popped, model.drain(..model.len().min(2)).collect::<Vec<u32>>(), "step {step}");
            } else if step % 7 < 4 && !queue.is_full() {
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
