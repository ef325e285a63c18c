//! The numbers of clients, and the engine of each.
//!
//! A server with several engines has a socket for each, and the kernel gives a datagram to the
//! engine of its client's number, whatever its address ([`GROUP_KEY`]). So a client stays with one
//! engine, which remembers its RPCs, even when its address changes. All engines draw numbers from
//! one counter, so consecutive clients belong to different engines. The first number is random.

use super::frame::{FrameKind, KIND_AT, SNID_AT};
use super::handshake::derived;
use nebula_nic::NodeId;
use nebula_sys::udp::GroupKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The lowest byte of the client's number chooses the engine; any engine answers a hello.
#[expect(clippy::cast_possible_truncation, reason = "places in a header of 32 bytes")]
pub(crate) const GROUP_KEY: GroupKey =
    GroupKey { owner_at: SNID_AT as u16, kind_at: KIND_AT as u16, for_anyone: FrameKind::Hello as u8 };

#[expect(clippy::cast_possible_truncation, reason = "32 bits are wanted")]
pub(crate) fn first_number(entropy: &[u8; 32]) -> u32 {
    derived(entropy, 5) as u32
}

#[derive(Debug)]
pub(crate) struct Numbers {
    next: Arc<AtomicU32>,
    engine: u16,
    engines: u16,
    drawn: u32,
}

impl Numbers {
    /// The access of each of a server's engines; the first number is `first`.
    pub(crate) fn for_engines(engines: u16, first: u32) -> Vec<Self> {
        let next = Arc::new(AtomicU32::new(first));
        (0..engines).map(|engine| Self { next: next.clone(), engine, engines, drawn: 0 }).collect()
    }

    pub(super) fn engine(&self) -> u16 {
        self.engine
    }

    /// A number for another client, never 0. Leaves out the lowest bytes beyond the last multiple
    /// of the engines: with three, 255 and 256 would be of the same engine.
    pub(super) fn draw(&mut self) -> NodeId {
        self.drawn = self.drawn.saturating_add(1);
        self.next()
    }

    /// As [`draw`](Self::draw), for a client whose connection belongs to this engine.
    pub(super) fn draw_own(&mut self) -> NodeId {
        self.drawn = self.drawn.saturating_add(1);
        loop {
            let number = self.next();
            if self.is_own(number) {
                return number;
            }
        }
    }

    fn next(&self) -> NodeId {
        loop {
            // Relaxed: no other read depends on it. After 2^32 clients numbers repeat.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let turns = 256 / self.engines * self.engines;
            if number != 0 && u16::from(number.to_le_bytes()[0]) < turns {
                return NodeId(number);
            }
        }
    }

    pub(super) fn drawn(&self) -> u32 {
        self.drawn
    }

    /// Whether the client belongs to this engine. Only its own engine may run its RPCs.
    #[inline]
    pub(super) fn is_own(&self, snid: NodeId) -> bool {
        self.engines == 1 || u16::from(snid.0.to_le_bytes()[0]) % self.engines == self.engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_in_a_row_belong_to_the_engines_in_turn_wherever_they_begin() {
        for engines in [1, 2, 3, 7, 200, 256] {
            for first in (0..256).chain([u32::MAX - 100]) {
                let mut numbers = Numbers::for_engines(engines, first);
                let mut owned = vec![0; usize::from(engines)];
                for turn in 0..3 * usize::from(engines) {
                    let snid = numbers[turn % 2 % usize::from(engines)].draw();
                    let owners: Vec<_> = (0..).zip(&numbers).filter(|(_, numbers)| numbers.is_own(snid)).collect();
                    let &[(owner, _)] = &owners[..] else { panic!("{snid:?} belongs to {owners:?}") };
                    let owner: usize = owner;
                    owned[owner] += 1;
                }
                // Number 0 is left out, which may move one client on.
                let holds_zero = first == 0 || first == u32::MAX - 100;
                let even = 3 - u8::from(holds_zero)..=3 + u8::from(holds_zero);
                assert!(owned.iter().all(|clients| even.contains(clients)), "{engines} from {first}: {owned:?}");
            }
        }
    }

    #[test]
    fn an_engine_counts_what_it_has_drawn() {
        let mut engines = Numbers::for_engines(3, u32::MAX - 100);
        for turn in 0..999 {
            assert_ne!(engines[turn % 2].draw().0, 0);
        }
        assert_eq!([engines[0].drawn(), engines[1].drawn(), engines[2].drawn()], [500, 499, 0]);
    }
}
