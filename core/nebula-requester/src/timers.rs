//! Times of RPCs, the earliest first: individual deadlines, and next tries.

use super::table::{State, Table};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use nebula_nic::id::TransferId;
use nebula_nic::time::Timestamp;

/// When, the place of an RPC, and the number of its try.
type Mark = (Timestamp, u32, TransferId);

/// The mark of an RPC that no longer counts stays until it is due, or until room is needed.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<Mark>>,
    marks_max: usize,
    counts: fn(&Table, Mark) -> bool,
}

impl Timers {
    /// The ends of back-offs.
    pub(super) fn of_tries(capacity: u32) -> Self {
        Self::new(capacity, |table, (_, place, tid)| {
            let entry = table.entry(place as usize);
            entry.state == State::BackOff && entry.tid == tid
        })
    }

    /// Individual deadlines; RPCs with the configured one expire in the order begun.
    pub(super) fn of_deadlines(capacity: u32) -> Self {
        Self::new(capacity, |table, (at, place, _)| {
            let entry = table.entry(place as usize);
            entry.deadline == at && matches!(entry.state, State::Sent | State::BackOff)
        })
    }

    fn new(capacity: u32, counts: fn(&Table, Mark) -> bool) -> Self {
        let marks_max = 2 * capacity as usize;
        Self { heap: BinaryHeap::with_capacity(marks_max), marks_max, counts }
    }

    pub(super) fn push(&mut self, at: Timestamp, place: usize, table: &Table) {
        if self.heap.len() == self.marks_max {
            // At most one mark per place counts, so this drops about half of them.
            self.heap.retain(|&Reverse(mark)| (self.counts)(table, mark));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a place is masked by a u32")]
        let number = place as u32;
        self.heap.push(Reverse((at, number, table.entry(place).tid)));
    }

    #[inline]
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|&Reverse((at, ..))| at)
    }

    pub(super) fn pop_due(&mut self, now: Timestamp, table: &Table) -> Option<usize> {
        while self.earliest().is_some_and(|at| at <= now) {
            let Reverse(mark) = self.heap.pop()?;
            if (self.counts)(table, mark) {
                return Some(mark.1 as usize);
            }
        }
        None
    }
}
