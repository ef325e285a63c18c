//! Whose share of a server a client has: that of its host.
//!
//! A client may have any number of numbers and ports, but not of addresses. So what the NIC knows a client by has the host in its high bits, and
//! only the low bits of the client's own number: it counts by the host, and nothing has to be kept for that.
//!
//! Two hosts whose bits agree have one share together: one pair in 16,384. The hash is another for each run of the server, and
//! every 18 minutes.
//!
//! Over the loopback network all have one address, and each client is a separate source, by its port.

use nebula_nic::{NodeId, Sources, Timestamp};
use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The bits of a client's number at the NIC that say which host it is on; those below are its own.
pub(crate) const SOURCES: Sources = Sources { shift: 18, bits: 14 };
/// The bits of a client's own number.
const OWN: u32 = (1 << SOURCES.shift) - 1;
/// Time is divided into spans of 2^40 ns.
const SPAN_SHIFT: u32 = 40;

/// How hosts are told apart.
#[derive(Debug)]
pub(super) struct Hosts {
    key: [u8; 16],
    /// Whom the latest datagram was from, when, and its bits: mostly the next is of the same.
    latest: (SocketAddr, u64, u32),
}

impl Hosts {
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self { key, latest: (SocketAddr::from(([0; 4], 0)), u64::MAX, 0) }
    }

    /// What the NIC knows client `snid` at `peer` by: two clients of one host may be known by the same.
    #[inline]
    pub(super) fn number(&mut self, peer: SocketAddr, now: Timestamp, snid: NodeId) -> NodeId {
        let span = (now.as_ps() / 1000) >> SPAN_SHIFT;
        if (self.latest.0, self.latest.1) != (peer, span) {
            self.latest = (peer, span, self.bits(peer, span));
        }
        NodeId(self.latest.2 | snid.0 & OWN)
    }

    /// The bits of a client at `peer`, in place.
    fn bits(&self, peer: SocketAddr, span: u64) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        match peer.ip().to_canonical() {
            IpAddr::V4(host) => host.hash(&mut hasher),
            // A host has at least a network of 64 bits to choose addresses from.
            IpAddr::V6(host) => host.octets()[..8].hash(&mut hasher),
        }
        if peer.ip().to_canonical().is_loopback() {
            peer.port().hash(&mut hasher);
        }
        span.hash(&mut hasher);
        let [.., a, b, c, d] = hasher.finish().to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) & !OWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(peer: &str, now: Timestamp) -> u32 {
        SOURCES.of(Hosts::new([7; 16]).number(peer.parse().expect("an address"), now, NodeId(1)))
    }

    #[test]
    fn a_host_is_one_source_whatever_ports_it_has_but_over_loopback() {
        let now = Timestamp::ZERO;
        assert_eq!(source("10.0.0.1:5", now), source("10.0.0.1:6", now));
        assert_eq!(source("[::ffff:10.0.0.1]:5", now), source("10.0.0.1:6", now));
        assert_ne!(source("10.0.0.1:5", now), source("10.0.0.2:5", now));
        assert_eq!(source("[2001:db8::1]:5", now), source("[2001:db8::2:1]:6", now));
        assert_ne!(source("[2001:db8:0:1::1]:5", now), source("[2001:db8:0:2::1]:5", now));
        assert_ne!(source("127.0.0.1:5", now), source("127.0.0.1:6", now));
    }

    #[test]
    fn two_hosts_that_meet_are_parted_later() {
        let later = Timestamp::from_ps(1000 << SPAN_SHIFT);
        assert_ne!(source("10.0.0.1:5", Timestamp::ZERO), source("10.0.0.1:5", later));
    }
}
