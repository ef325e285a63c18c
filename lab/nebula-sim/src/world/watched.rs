//! An observer that counts, by the queue length that RPCs found, how many missed their SLO.

use super::length::Length;
use super::observed::Observer;
use super::request::Request;
use super::servers::{Ended, Received};
use nebula_nic::{Span, Timestamp};
use std::cell::RefCell;
use std::collections::VecDeque;

/// By the queue length that RPCs found: their number, and that of the late ones.
pub(crate) type ByDepth = Vec<[u64; 2]>;

pub(super) struct Watched<'a> {
    length: Length,
    slo: Span,
    /// The queue lengths found by RPCs from `oldest` on, until they end.
    found: VecDeque<u32>,
    oldest: u64,
    by_depth: &'a RefCell<ByDepth>,
}

const ENDED: u32 = u32::MAX;

impl<'a> Watched<'a> {
    pub(super) fn new(length: Length, slo: Span, by_depth: &'a RefCell<ByDepth>) -> Self {
        by_depth.borrow_mut().clear();
        Self { length, slo, found: VecDeque::new(), oldest: 0, by_depth }
    }
}

impl Observer for Watched<'_> {
    /// No RPC is refused, so each arrives once, in the order of the numbers.
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
