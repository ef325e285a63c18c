//! The numbers of clients, and which engine of a server each belongs to.
//!
//! A server with several engines has a socket for each, and the kernel gives a datagram to the engine that its client's number names, wherever
//! it comes from ([`GROUP_KEY`]). So a client stays with one engine, which remembers its RPCs, even when its address changes. Numbers are
//! drawn one after the other by all engines together: consecutive clients belong to different engines. The first is random.

use super::frame::{FrameKind, KIND_AT, SNID_AT};
use super::handshake::derived;
use nebula_nic::NodeId;
use nebula_sys::udp::GroupKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How the kernel finds the engine of a datagram: by the lowest byte of the client's number; any engine answers a hello.
#[expect(clippy::cast_possible_truncation, reason = "places in a header of 32 bytes")]
pub(crate) const GROUP_KEY: GroupKey =
    GroupKey { owner_at: SNID_AT as u16, kind_at: KIND_AT as u16, for_anyone: FrameKind::Hello as u8 };

/// A random number for the first client.
#[expect(clippy::cast_possible_truncation, reason = "32 bits are wanted")]
pub(crate) fn first_number(entropy: &[u8; 32]) -> u32 {
    derived(entropy, 5) as u32
}

/// The numbers of clients, at one engine.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: Arc<AtomicU32>,
    engine: u16,
    engines: u16,
    drawn: u32,
}

impl Numbers {
    /// Those of a server's engines, from `first` on.
    pub(crate) fn for_engines(engines: u16, first: u32) -> Vec<Self> {
        let next = Arc::new(AtomicU32::new(first));
        (0..engines).map(|engine| Self { next: next.clone(), engine, engines, drawn: 0 }).collect()
    }

    /// The engine that these are for.
    pub(super) fn engine(&self) -> u16 {
        self.engine
    }

    /// A number for another client, never 0.
    pub(super) fn draw(&mut self) -> NodeId {
        self.drawn = self.drawn.saturating_add(1);
        loop {
            // Relaxed: nothing else is read that another engine has written.
            // After 2^32 clients numbers come again.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number != 0 {
                return NodeId(number);
            }
        }
    }

    /// Clients that this engine has given a number.
    pub(super) fn drawn(&self) -> u32 {
        self.drawn
    }

    /// Whether the client belongs to this engine: any other remembers nothing of its RPCs, and must not run them.
    #[inline]
    pub(super) fn is_own(&self, snid: NodeId) -> bool {
        self.engines == 1 || u16::from(snid.0.to_le_bytes()[0]) % self.engines == self.engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_belongs_to_one_engine_and_none_has_number_0() {
        let mut engines = Numbers::for_engines(3, u32::MAX - 100);
        let mut owned = [0; 3];
        for turn in 0..999 {
            let snid = engines[turn % 2].draw();
            assert_ne!(snid.0, 0);
            let owners: Vec<_> = engines.iter().map(|numbers| usize::from(numbers.is_own(snid))).collect();
            assert_eq!(owners.iter().sum::<usize>(), 1, "{snid:?} belongs to {owners:?}");
            owned.iter_mut().zip(owners).for_each(|(owned, is_owner)| *owned += is_owner);
        }
        assert!(owned.iter().all(|&clients| (325..=341).contains(&clients)), "{owned:?} of 999 clients");
        assert_eq!([engines[0].drawn(), engines[1].drawn(), engines[2].drawn()], [500, 499, 0]);
    }
}
