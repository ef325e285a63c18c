//! A client's share of a server: that of its host.
//!
//! A client may use any number of ids and ports, but not of addresses. So a client's number at the
//! NIC has its host in the high bits, and only the client's low bits. The NIC counts by host,
//! without a table.
//!
//! Two hosts with equal bits have one share together: one pair in 16,384. The hash changes with
//! each run of the server and every 18 minutes.
//!
//! Over the loopback network every client is a separate source, by its port.
//!
//! If there are tenants, the highest four of the host's bits are the tenant, and two hosts of one
//! tenant agree more often: one pair in 1,024.

use super::seal::owner;
use crate::config::tenant::{self, TENANT_MASK, TENANT_SHIFT, Tenant};
use nebula_nic::{NodeId, Sources, Timestamp};
use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The bits of a client's number at the NIC that identify its host. The lower ones are its own.
pub(crate) const SOURCES: Sources = Sources { shift: 18, bits: 14 };
const OWN: u32 = (1 << SOURCES.shift) - 1;
const SPAN_SHIFT: u32 = 40;

#[derive(Debug)]
pub(super) struct Tenancy {
    owners: Box<[u64]>,
}

impl Tenancy {
    pub(super) fn new(tenants: &[Tenant]) -> Self {
        Self { owners: tenant::named(tenants).map(|tenant| owner(tenant.name())).collect() }
    }

    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        !self.owners.is_empty()
    }

    /// The tenant's bits of a client whose key belongs to `owner`, in place.
    #[inline]
    pub(super) fn bits(&self, owner: u64) -> u32 {
        let place = self.owners.iter().position(|tenant| *tenant == owner);
        place.map_or(0, |at| u32::try_from(at + 1).unwrap_or(0) << TENANT_SHIFT)
    }
}

#[derive(Debug)]
pub(super) struct Hosts {
    key: [u8; 16],
    /// The latest datagram's sender, time span and host bits, for the next one of the sender.
    latest: (SocketAddr, u64, u32),
    mask: u32,
}

impl Hosts {
    /// `leaves_tenant`: the tenant's bits are not the host's.
    pub(super) fn new(key: [u8; 16], leaves_tenant: bool) -> Self {
        let mask = if leaves_tenant { !OWN & !TENANT_MASK } else { !OWN };
        Self { key, latest: (SocketAddr::from(([0; 4], 0)), u64::MAX, 0), mask }
    }

    /// The number of client `snid` at the NIC, without tenant; two of a host may have the same.
    #[inline]
    pub(super) fn number(&mut self, peer: SocketAddr, now: Timestamp, snid: NodeId) -> NodeId {
        let span = (now.as_ps() / 1000) >> SPAN_SHIFT;
        if (self.latest.0, self.latest.1) != (peer, span) {
            self.latest = (peer, span, self.bits(peer, span));
        }
        NodeId(self.latest.2 | snid.0 & OWN)
    }

    fn bits(&self, peer: SocketAddr, span: u64) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        match peer.ip().to_canonical() {
            IpAddr::V4(host) => host.hash(&mut hasher),
            // A host can choose addresses from a network of at least 64 bits.
            IpAddr::V6(host) => host.octets()[..8].hash(&mut hasher),
        }
        if peer.ip().to_canonical().is_loopback() {
            peer.port().hash(&mut hasher);
        }
        span.hash(&mut hasher);
        let [.., a, b, c, d] = hasher.finish().to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(peer: &str, now: Timestamp) -> u32 {
        SOURCES.of(Hosts::new([7; 16], false).number(peer.parse().expect("an address"), now, NodeId(1)))
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

    #[test]
    fn a_tenant_s_bits_are_its_own_and_hosts_are_told_apart_by_the_others() {
        let tenants = ["ann=3", "*=1", "bob=2"].map(|text| text.parse().expect("a tenant"));
        let tenancy = Tenancy::new(&tenants);
        assert_eq!(["ann", "bob", "cid"].map(|name| tenancy.bits(owner(name)) >> TENANT_SHIFT), [1, 2, 0]);
        assert!(tenancy.is_kept() && !Tenancy::new(&[]).is_kept());
        let (mut all, mut left) = (0, 0);
        for host in 0..=255 {
            let peer = SocketAddr::from(([10, 0, 0, host], 5));
            all |= Hosts::new([7; 16], false).number(peer, Timestamp::ZERO, NodeId(0)).0;
            left |= Hosts::new([7; 16], true).number(peer, Timestamp::ZERO, NodeId(0)).0;
        }
        assert_eq!((all, left), (!OWN, !OWN & !TENANT_MASK));
    }
}
