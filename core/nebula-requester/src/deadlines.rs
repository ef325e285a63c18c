//! Individual deadlines of RPCs, the earliest first.

use super::table::{State, Table};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use nebula_nic::time::Timestamp;

/// Entries of RPCs with an individual deadline; those with the configured one expire in the order
/// begun. The entry of an RPC that ends earlier stays until it is due, or until room is needed.
#[derive(Clone, Debug)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Timestamp, u32)>>,
    marks_max: usize,
}

impl Deadlines {
    pub(super) fn new(capacity: u32) -> Self {
        let marks_max = 2 * capacity as usize;
        Self { heap: BinaryHeap::with_capacity(marks_max), marks_max }
    }

    pub(super) fn push(&mut self, at: Timestamp, place: usize, table: &Table) {
        if self.heap.len() == self.marks_max {
            // There are at most as many live entries as places, and this one's is not among them.
            self.heap.retain(|&Reverse((at, place))| is_due_at(table, place, at));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a place is masked by a u32")]
        let place = place as u32;
        self.heap.push(Reverse((at, place)));
    }

    #[inline]
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|&Reverse((at, _))| at)
    }

    pub(super) fn pop_due(&mut self, now: Timestamp, table: &Table) -> Option<usize> {
        while self.earliest().is_some_and(|at| at <= now) {
            let Reverse((at, place)) = self.heap.pop()?;
            if is_due_at(table, place, at) {
                return Some(place as usize);
            }
        }
        None
    }
}

fn is_due_at(table: &Table, place: u32, at: Timestamp) -> bool {
    let entry = table.entry(place as usize);
    entry.deadline == at && matches!(entry.state, State::Sent | State::BackOff)
}
