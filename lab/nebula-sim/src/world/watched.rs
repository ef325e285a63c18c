//! An observer that records the queue length that each RPC found, and whether the RPC met its SLO.

use super::length::Length;
use super::observed::Observer;
use super::request::Request;
use super::servers::{Ended, Received};
use nebula_nic::{Span, Timestamp};
use std::cell::RefCell;
use std::collections::VecDeque;

/// RPCs by the queue length that they found: how many there were, and how many of them were late.
pub(crate) type ByDepth = Vec<[u64; 2]>;

pub(super) struct Watched<'a> {
    length: Length,
    slo: Span,
    /// The queue lengths found by RPCs that have not ended, from the oldest on, and the number of
    /// the oldest.
    found: VecDeque<u32>,
    oldest: u64,
    by_depth: &'a RefCell<ByDepth>,
}

/// The mark of an RPC that has ended.
const ENDED: u32 = u32::MAX;

impl<'a> Watched<'a> {
    /// Begins with `by_depth` empty.
    pub(super) fn new(length: Length, slo: Span, by_depth: &'a RefCell<ByDepth>) -> Self {
        by_depth.borrow_mut().clear();
        Self { length, slo, found: VecDeque::new(), oldest: 0, by_depth }
    }
}

impl Observer for Watched<'_> {
    /// RPCs arrive in the order of their numbers, each once, as none is refused.
    fn note_received(&mut self, _: Timestamp, _: &Request, received: Received) {
        self.found.push_back(received.depth);
    }

    fn note_ended(&mut self, now: Timestamp, ended: &Ended) {
        let place = usize::try_from(ended.served.number - self.oldest).expect("few RPCs are within at once");
        let depth = std::mem::replace(&mut self.found[place], ENDED) as usize;
        while self.found.front() == Some(&ENDED) {
            self.found.pop_front();
            self.oldest += 1;
        }
        if self.length.is_measured(ended.served.number) {
            let mut by_depth = self.by_depth.borrow_mut();
            if by_depth.len() <= depth {
                by_depth.resize(depth + 1, [0, 0]);
            }
            let is_late = now - ended.served.sent > self.slo;
            by_depth[depth][0] += 1;
            by_depth[depth][1] += u64::from(is_late);
        }
    }
}
