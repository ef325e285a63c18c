//! Where peers found this machine, of those that were heard last: an answer from elsewhere is no answer to a connected socket.
//!
//! A table of fixed size, whatever the number of peers. One that was forgotten is answered from where the kernel thinks best,
//! which a peer of a machine with one address never notices; any other sends its request again, and is known again.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};

/// Places of the table, one a peer: with a tenth of them in use, one peer in ten shares its place.
const PLACES: usize = 4096;
const _: () = assert!(PLACES.is_power_of_two());

#[derive(Debug)]
pub(super) struct ReturnAddresses {
    places: Box<[Option<(SocketAddr, IpAddr)>]>,
    /// Keyed at random: nobody can choose whose place to take.
    hash: RandomState,
}

impl ReturnAddresses {
    pub(super) fn new() -> Self {
        Self { places: vec![None; PLACES].into_boxed_slice(), hash: RandomState::new() }
    }

    /// `peer` was heard, and sent to `local`.
    pub(super) fn note(&mut self, peer: SocketAddr, local: IpAddr) {
        let place = self.place(peer);
        self.places[place] = Some((peer, local));
    }

    pub(super) fn of(&self, peer: SocketAddr) -> Option<IpAddr> {
        self.places[self.place(peer)].filter(|(known, _)| *known == peer).map(|(_, local)| local)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
    fn place(&self, peer: SocketAddr) -> usize {
        self.hash.hash_one(peer) as usize % PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_peer_is_known_and_no_other_peers() {
        let mut known = ReturnAddresses::new();
        let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|text| text.parse::<SocketAddr>().unwrap());
        let [a, b] = ["10.0.0.8", "10.0.0.9"].map(|text| text.parse::<IpAddr>().unwrap());
        known.note(one, a);
        assert_eq!((known.of(one), known.of(two)), (Some(a), None));
        known.note(one, b);
        assert_eq!(known.of(one), Some(b));
    }
}
