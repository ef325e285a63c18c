//! The RPCs that wait in one queue, by the time of their dispatch.

use super::terms::Stop;
use crate::system::SLOTS_LAST;

/// A FIFO: RPCs of one queue are dispatched in the order of their arrival.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// A ring of a power of two places; the [`AHEAD`] behind the tail, or more, are [`NEVER`].
    dispatched: Box<[u64]>,
    head: usize,
    tail: usize,
}

/// Entries compared at once.
const AHEAD: usize = 4;
const NEVER: u64 = u64::MAX;
const PLACES_FIRST: usize = 2048;

impl Waiting {
    pub(super) fn new() -> Self {
        Self { dispatched: vec![NEVER; PLACES_FIRST].into(), head: 0, tail: 0 }
    }

    pub(super) fn reserve(&mut self, more: usize) -> Result<(), Stop> {
        if self.tail - self.head > SLOTS_LAST as usize {
            return Err(Stop::Outgrown);
        }
        let wanted = self.tail - self.head + more + AHEAD;
        if wanted > self.dispatched.len() {
            let len = wanted.next_power_of_two();
            let mut longer = vec![NEVER; len];
            for place in self.head..self.tail {
                longer[place & (len - 1)] = self.dispatched[place & (self.dispatched.len() - 1)];
            }
            self.dispatched = longer.into();
        }
        Ok(())
    }

    /// Removes the RPCs dispatched by `now`; returns how many still wait.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "no more than fit in a run")]
    pub(super) fn found(&mut self, now: u64) -> u32 {
        let mask = self.dispatched.len() - 1;
        loop {
            // They are in order, so those that have left are the first ones; `NEVER` has not left.
            let mut left = 0;
            for next in 0..AHEAD {
                left += usize::from(self.dispatched[(self.head + next) & mask] <= now);
            }
            self.head += left;
            if left < AHEAD {
                return (self.tail - self.head) as u32;
            }
        }
    }

    /// Adds an RPC that arrives at `now` and, unless `dispatched` is now, waits until then.
    #[inline(always)]
    pub(super) fn push(&mut self, now: u64, dispatched: u64) {
        let mask = self.dispatched.len() - 1;
        let waits = dispatched > now;
        self.dispatched[self.tail & mask] = if waits { dispatched } else { NEVER };
        self.dispatched[(self.tail + AHEAD) & mask] = NEVER;
        self.tail += usize::from(waits);
    }
}
