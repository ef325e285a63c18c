//! One packet: an Ethernet frame with an IPv4 packet, read and rewritten in place.
//!
//! Checksums change by the difference that a rewritten field makes (RFC 1624), so a damaged packet
//! stays recognizable.

use crate::flow::{Endpoint, Flow, Protocol};
use core::net::Ipv4Addr;
use smoltcp::wire::{IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

/// Why a frame has no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPacket {
    /// It is not IPv4.
    NotIpv4,
    /// It is truncated, or contradicts its lengths or its IP header's checksum.
    Malformed,
}

/// Bytes of an Ethernet header, and its last two for IPv4.
const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [8, 0];

/// A packet in its frame.
#[derive(Debug)]
pub struct Packet<'f> {
    /// Without bytes behind the packet.
    frame: &'f mut [u8],
    payload_at: usize,
    flow: Flow,
    is_fragment: bool,
}

/// Offsets of fields in their headers.
const IP_HOPS: usize = 8;
const IP_CHECKSUM: usize = 10;
const IP_FROM: usize = 12;
const IP_TO: usize = 16;
const UDP_CHECKSUM: usize = 6;
const TCP_CHECKSUM: usize = 16;
const TCP_FLAGS: usize = 13;
const FIN_OR_RST: u8 = 1 | 4;

impl<'f> Packet<'f> {
    /// The packet in `frame`. Completes a UDP or TCP checksum that a sender on this machine has
    /// left to a device.
    ///
    /// # Errors
    ///
    /// [`BadPacket`].
    pub fn parse(frame: &'f mut [u8]) -> Result<Self, BadPacket> {
        let (ethernet, ip) = frame.split_first_chunk::<ETHERNET_BYTES>().ok_or(BadPacket::Malformed)?;
        if !ethernet.ends_with(&IPV4) {
            return Err(BadPacket::NotIpv4);
        }
        let ip = Ipv4Packet::new_checked(ip).map_err(|_| BadPacket::Malformed)?;
        if ip.version() != 4 || ip.header_len() < 20 || !ip.verify_checksum() {
            return Err(BadPacket::Malformed);
        }
        let is_fragment = ip.more_frags() || ip.frag_offset() > 0;
        let (from, to) = (ip.src_addr(), ip.dst_addr());
        let (payload_at, end) = (ETHERNET_BYTES + usize::from(ip.header_len()), usize::from(ip.total_len()));
        let protocol = Protocol::from_number(ip.next_header().into());
        let ports = if is_fragment { None } else { ports(ip.next_header(), ip.payload())? };
        let [from_port, to_port] = ports.unwrap_or_default();
        let flow =
            Flow { protocol, from: Endpoint { ip: from, port: from_port }, to: Endpoint { ip: to, port: to_port } };
        let mut packet = Self { frame: &mut frame[..ETHERNET_BYTES + end], payload_at, flow, is_fragment };
        packet.complete_checksum();
        Ok(packet)
    }

    /// Its flow; ports are 0 if there are none.
    #[must_use]
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Whether it is a fragment, whose ports are not known.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.is_fragment
    }

    /// Bytes of the frame.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.frame.len()
    }

    /// Whether it has ports, which may be rewritten.
    #[must_use]
    pub const fn has_ports(&self) -> bool {
        self.checksum_at().is_some()
    }

    /// Whether it ends a TCP connection: FIN or RST.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        self.has_ports()
            && self.flow.protocol == Protocol::Tcp
            && self.frame[self.payload_at + TCP_FLAGS] & FIN_OR_RST != 0
    }

    /// Changes its source. A packet without ports gets none.
    pub fn set_source(&mut self, from: Endpoint) {
        self.set_word(ETHERNET_BYTES + IP_FROM, from.ip);
        self.set_port(0, from.port);
        self.flow.from = from;
    }

    /// Changes its destination. A packet without ports gets none.
    pub fn set_destination(&mut self, to: Endpoint) {
        self.set_word(ETHERNET_BYTES + IP_TO, to.ip);
        self.set_port(2, to.port);
        self.flow.to = to;
    }

    /// Takes one hop; returns whether there is one left.
    pub fn hop(&mut self) -> bool {
        let at = ETHERNET_BYTES + IP_HOPS;
        let Some(left @ 1..) = self.frame[at].checked_sub(1) else { return false };
        let before = self.half(at);
        self.frame[at] = left;
        let after = self.half(at);
        self.update(ETHERNET_BYTES + IP_CHECKSUM, &[(before, after)]);
        true
    }

    /// Where the payload's checksum is, if it covers the addresses.
    const fn checksum_at(&self) -> Option<usize> {
        match self.flow.protocol {
            _ if self.is_fragment => None,
            Protocol::Udp => Some(self.payload_at + UDP_CHECKSUM),
            Protocol::Tcp => Some(self.payload_at + TCP_CHECKSUM),
            Protocol::Icmp | Protocol::Other(_) => None,
        }
    }

    fn half(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.frame[at], self.frame[at + 1]])
    }

    fn set_half(&mut self, at: usize, value: u16) {
        self.frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    fn set_word(&mut self, at: usize, ip: Ipv4Addr) {
        let before = [self.half(at), self.half(at + 2)];
        self.frame[at..at + 4].copy_from_slice(&ip.octets());
        let changes = [(before[0], self.half(at)), (before[1], self.half(at + 2))];
        self.update(ETHERNET_BYTES + IP_CHECKSUM, &changes);
        self.update_carried(&changes);
    }

    fn set_port(&mut self, offset: usize, port: u16) {
        if self.has_ports() {
            let at = self.payload_at + offset;
            let before = self.half(at);
            self.set_half(at, port);
            self.update_carried(&[(before, port)]);
        }
    }

    fn update(&mut self, at: usize, changes: &[(u16, u16)]) {
        let updated = updated(self.half(at), changes);
        self.set_half(at, updated);
    }

    /// Updates the payload's checksum. UDP's may be absent, which is 0.
    fn update_carried(&mut self, changes: &[(u16, u16)]) {
        let Some(at) = self.checksum_at() else { return };
        let is_udp = self.flow.protocol == Protocol::Udp;
        if is_udp && self.half(at) == 0 {
            return;
        }
        self.update(at, changes);
        if is_udp && self.half(at) == 0 {
            self.set_half(at, u16::MAX);
        }
    }

    /// Completes a checksum that covers only addresses and length.
    fn complete_checksum(&mut self) {
        let Some(at) = self.checksum_at() else { return };
        let Flow { from, to, protocol } = self.flow;
        let carried = &mut self.frame[self.payload_at..];
        let pseudo = pseudo_sum(from.ip, to.ip, protocol.number(), carried.len());
        if u16::from_be_bytes([carried[at - self.payload_at], carried[at + 1 - self.payload_at]]) != pseudo {
            return;
        }
        let (from, to) = (from.ip.into(), to.ip.into());
        match protocol {
            Protocol::Udp => UdpPacket::new_unchecked(carried).fill_checksum(&from, &to),
            Protocol::Tcp => TcpPacket::new_unchecked(carried).fill_checksum(&from, &to),
            Protocol::Icmp | Protocol::Other(_) => {}
        }
    }
}

/// The ports of a payload, if it has any.
fn ports(protocol: IpProtocol, carried: &[u8]) -> Result<Option<[u16; 2]>, BadPacket> {
    match protocol {
        IpProtocol::Udp => {
            let udp = UdpPacket::new_checked(carried).map_err(|_| BadPacket::Malformed)?;
            // No checksum covers bytes behind the datagram.
            let is_whole = usize::from(udp.len()) == carried.len();
            if is_whole { Ok(Some([udp.src_port(), udp.dst_port()])) } else { Err(BadPacket::Malformed) }
        }
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(carried).map_err(|_| BadPacket::Malformed)?;
            Ok(Some([tcp.src_port(), tcp.dst_port()]))
        }
        _ => Ok(None),
    }
}

/// The checksum after `changes` of 16-bit words that it covers (RFC 1624, equation 3).
fn updated(checksum: u16, changes: &[(u16, u16)]) -> u16 {
    let changed = changes.iter().map(|&(before, after)| u32::from(!before) + u32::from(after)).sum::<u32>();
    !fold(u32::from(!checksum) + changed)
}

/// The sum of addresses, protocol and length, which a sender leaves for a device to complete.
fn pseudo_sum(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, bytes: usize) -> u16 {
    let halves = |ip: Ipv4Addr| u32::from(ip) >> 16;
    let low = |ip: Ipv4Addr| u32::from(ip) & 0xffff;
    // A packet is shorter than 64 KiB.
    let bytes = u32::try_from(bytes & 0xffff).unwrap_or(0);
    fold(halves(from) + low(from) + halves(to) + low(to) + u32::from(protocol) + bytes)
}

/// A sum in 16 bits, with end-around carry.
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    #[expect(clippy::cast_possible_truncation, reason = "two carries are all")]
    let twice = ((once & 0xffff) + (once >> 16)) as u16;
    twice
}
