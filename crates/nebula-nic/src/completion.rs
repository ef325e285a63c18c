//! Station 9: *which RPC does the core begin?*
//!
//! The completion queue of a core: the RPCs that the back end has given it and that it has not begun, in order. It is as
//! short as the dispatch bound, since the back end gives no more.
//!
//! Next: station 10, [`release`](crate::release).

use crate::verdict::Arrival;
use alloc::boxed::Box;
use alloc::vec;

/// The RPCs at a core that it has not begun.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    /// A ring of a power of two.
    entries: Box<[Arrival]>,
    head: u32,
    len: u32,
}

impl CompletionQueue {
    /// A queue for at least `bound` RPCs.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        let entries = (bound as usize).next_power_of_two();
        Self { entries: vec![Arrival::default(); entries].into(), head: 0, len: 0 }
    }

    /// RPCs in it.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an RPC at the end.
    ///
    /// # Panics
    ///
    /// If the queue is full: the back end has given more than the bound.
    #[inline]
    pub fn push(&mut self, arrival: Arrival) {
        assert!((self.len as usize) < self.entries.len(), "a core was given more RPCs than its bound");
        let place = self.place(self.len);
        self.entries[place] = arrival;
        self.len += 1;
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<Arrival> {
        let first = *self.front()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(first)
    }

    /// The first, left in place.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&Arrival> {
        if self.len == 0 { None } else { Some(&self.entries[self.place(0)]) }
    }

    #[inline]
    fn place(&self, ahead: u32) -> usize {
        self.head.wrapping_add(ahead) as usize & (self.entries.len() - 1)
    }
}
