//! Station 9: *which RPC does the core begin?*
//!
//! The completion queue of a core has the RPCs that the back end has given it and that it has not
//! begun, in order. Its length is the dispatch bound, since the back end gives no more.
//!
//! Next: station 10, [`release`](crate::release).

use crate::dispatch::JBSQ_BOUND_MAX;
use crate::verdict::{Arrival, PackedArrival};

/// As many as the largest bound of a policy, so that a masked index needs no check.
const PLACES: usize = JBSQ_BOUND_MAX as usize;

const _: () = assert!(PLACES.is_power_of_two(), "an index is masked to the places");

/// The RPCs at a core that it has not begun.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    entries: [PackedArrival; PLACES],
    /// Places in use minus one: the bound, rounded up to a power of two, so that a small bound
    /// occupies few cache lines.
    mask: u32,
    head: u32,
    len: u32,
}

impl CompletionQueue {
    /// A queue for at least `bound` RPCs.
    ///
    /// # Panics
    ///
    /// If `bound` is 0 or more than [`JBSQ_BOUND_MAX`].
    #[must_use]
    pub fn new(bound: u32) -> Self {
        assert!((1..=JBSQ_BOUND_MAX).contains(&bound), "a core has a bound from 1 to {JBSQ_BOUND_MAX}, not {bound}");
        Self { entries: [PackedArrival::default(); PLACES], mask: bound.next_power_of_two() - 1, head: 0, len: 0 }
    }

    /// RPCs in the queue.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether the queue is empty.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an RPC.
    ///
    /// # Panics
    ///
    /// If the queue is full: the back end has given more than the bound.
    #[inline(always)]
    pub fn push(&mut self, arrival: Arrival) {
        assert!(self.len <= self.mask, "a core was given more RPCs than its bound");
        self.entries[self.place(self.len)] = arrival.into();
        self.len += 1;
    }

    /// Takes the first RPC.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Arrival> {
        let first = self.front()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(first)
    }

    /// The first RPC, without removing it.
    #[must_use]
    #[inline(always)]
    pub fn front(&self) -> Option<Arrival> {
        if self.len == 0 { None } else { Some(self.entries[self.place(0)].into()) }
    }

    #[inline]
    const fn place(&self, ahead: u32) -> usize {
        (self.head.wrapping_add(ahead) & self.mask) as usize & (PLACES - 1)
    }
}
