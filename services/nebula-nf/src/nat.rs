//! Source NAT: hosts inside share one address outside, with a port for each of their ends.
//!
//! An end inside has one outside port for all destinations, and any host may send to it (RFC 4787:
//! endpoint-independent mapping and filtering). The port is free again after the protocol's time
//! without packets from inside, or soon after a TCP connection has ended. Only TCP and UDP pass.

use crate::chain::{Direction, DropReason, Function};
use crate::flow::{Endpoint, Flow, Protocol, low};
use crate::packet::Packet;
use crate::table::{Table, until};
use core::net::Ipv4Addr;
use nebula_nic::{Span, Timestamp};
use rapidhash::v3::rapidhash_v3;

/// Ports below belong to services.
pub const FIRST_PORT: u16 = 1024;
/// How long an idle port of UDP is kept (RFC 4787, REQ-5).
const UDP_IDLE: Span = Span::from_secs(300);
/// The same of an established TCP connection (RFC 5382, REQ-5), and of one that ends.
const TCP_IDLE: Span = Span::from_secs(7440);
const TCP_ENDS: Span = Span::from_secs(240);

/// The ports of one shard of a NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    count: u16,
}

impl Ports {
    /// Those of shard `shard` of `shards`, of which there is at least one: all have equally many.
    #[must_use]
    pub fn of_shard(shard: u32, shards: u32) -> Self {
        let count = (u32::from(u16::MAX - FIRST_PORT) + 1) / shards.max(1);
        let first = u32::from(FIRST_PORT) + shard * count;
        Self { first: u16::try_from(first).unwrap_or(u16::MAX), count: u16::try_from(count).unwrap_or(u16::MAX) }
    }

    /// The shard of a port.
    #[must_use]
    pub fn shard_of(port: u16, shards: u32) -> u32 {
        let count = u32::from(Self::of_shard(0, shards).count).max(1);
        (u32::from(port.saturating_sub(FIRST_PORT)) / count).min(shards.max(1) - 1)
    }
}

type Inside = (Protocol, Endpoint);

/// The function that translates.
#[derive(Clone, Debug)]
pub struct Nat {
    address: Ipv4Addr,
    ports: Ports,
    /// By protocol: the place of an end inside gives its port.
    tcp: Table<Inside, Connection>,
    udp: Table<Inside, Connection>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    is_ending: bool,
}

impl Nat {
    /// A NAT to `address`, with these ports of it for each protocol.
    #[must_use]
    pub fn new(address: Ipv4Addr, ports: Ports) -> Self {
        let table = || Table::new(ports.count.into());
        Self { address, ports, tcp: table(), udp: table() }
    }

    /// Ports in use, of UDP and of TCP.
    #[must_use]
    pub fn in_use(&self) -> [usize; 2] {
        [self.udp.len(), self.tcp.len()]
    }

    fn table(&mut self, protocol: Protocol) -> Option<&mut Table<Inside, Connection>> {
        match protocol {
            Protocol::Udp => Some(&mut self.udp),
            Protocol::Tcp => Some(&mut self.tcp),
            Protocol::Icmp | Protocol::Other(_) => None,
        }
    }

    /// The outside port for a packet's sender.
    fn map(&mut self, now: Timestamp, from: Inside, ends: bool) -> Result<u16, DropReason> {
        let first = self.ports.first;
        let table = self.table(from.0).ok_or(DropReason::NatProtocol)?;
        let known = table.get(now, from).map(|(place, connection)| (place, *connection));
        let connection = Connection { is_ending: ends || known.is_some_and(|(_, connection)| connection.is_ending) };
        let until = until(now, idle(from.0, connection));
        // Replaces a known entry, whose connection may end now.
        let place = table.insert(now, (from, connection), until).ok_or(DropReason::NatExhausted)?;
        u16::try_from(place).ok().and_then(|place| first.checked_add(place)).ok_or(DropReason::NatExhausted)
    }

    /// The end inside for a packet to a port.
    fn unmap(&mut self, now: Timestamp, to: (Protocol, u16), ends: bool) -> Result<Endpoint, DropReason> {
        let place = to.1.checked_sub(self.ports.first);
        let table = self.table(to.0).ok_or(DropReason::NatProtocol)?;
        let place = place.ok_or(DropReason::NatUnknown)?;
        let ((_, inside), connection) = table.at(now, place.into()).ok_or(DropReason::NatUnknown)?;
        if ends && !connection.is_ending {
            connection.is_ending = true;
            table.keep(place.into(), until(now, TCP_ENDS));
        }
        Ok(inside)
    }
}

fn idle(protocol: Protocol, connection: Connection) -> Span {
    match protocol {
        Protocol::Tcp if connection.is_ending => TCP_ENDS,
        Protocol::Tcp => TCP_IDLE,
        _ => UDP_IDLE,
    }
}

/// The hash of an end inside, which divides the ends among the shards of a chain.
#[must_use]
pub(crate) fn hash_of_inside(protocol: Protocol, end: Endpoint) -> u32 {
    let [a, b, c, d] = end.ip.octets();
    let [e, f] = end.port.to_be_bytes();
    low(rapidhash_v3(&[a, b, c, d, e, f, protocol.number()]))
}

impl Function for Nat {
    fn handle(&mut self, now: Timestamp, direction: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason> {
        let Flow { protocol, from, to } = *packet.flow();
        if direction == Direction::Inward && to.ip != self.address {
            // For a host whose address is known outside.
            return Ok(());
        }
        if packet.is_fragment() {
            return Err(DropReason::Fragment);
        }
        let ends = packet.ends_connection();
        match direction {
            Direction::Outward => {
                let port = self.map(now, (protocol, from), ends)?;
                packet.set_source(Endpoint { ip: self.address, port });
            }
            Direction::Inward => packet.set_destination(self.unmap(now, (protocol, to.port), ends)?),
        }
        Ok(())
    }

    fn keeps_order(&self) -> bool {
        true
    }
}
