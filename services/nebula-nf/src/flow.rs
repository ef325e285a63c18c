//! Which packets belong together: those of one protocol between the same two ends, in one
//! direction.

use core::fmt;
use core::net::Ipv4Addr;
use rapidhash::v3::rapidhash_v3;

/// The protocol within IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Control messages (RFC 792).
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Any other, by its number.
    Other(u8),
}

impl Protocol {
    /// The protocol with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            other => Self::Other(other),
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Icmp => 1,
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Other(number) => number,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Icmp => write!(f, "icmp"),
            Self::Tcp => write!(f, "tcp"),
            Self::Udp => write!(f, "udp"),
            Self::Other(number) => write!(f, "{number}"),
        }
    }
}

/// An address and a port; the port is 0 for protocols without ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The address.
    pub ip: Ipv4Addr,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ip, self.port)
    }
}

/// A flow: protocol and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The protocol.
    pub protocol: Protocol,
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
}

impl Flow {
    /// Whether a host can have sent it: its source is one host, and not its destination (RFC 1812,
    /// section 5.3.7).
    #[must_use]
    pub const fn has_possible_source(&self) -> bool {
        let (from, to) = (self.from.ip, self.to.ip);
        let is_host = !from.is_loopback() && !from.is_multicast() && !from.is_broadcast() && from.octets()[0] != 0;
        is_host && from.to_bits() != to.to_bits()
    }

    /// The hash of this flow: the same on every machine.
    #[must_use]
    pub fn hash(&self) -> u32 {
        let mut bytes = [0; 13];
        bytes[..4].copy_from_slice(&self.from.ip.octets());
        bytes[4..8].copy_from_slice(&self.to.ip.octets());
        bytes[8..10].copy_from_slice(&self.from.port.to_be_bytes());
        bytes[10..12].copy_from_slice(&self.to.port.to_be_bytes());
        bytes[12] = self.protocol.number();
        low(rapidhash_v3(&bytes))
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.protocol, self.from, self.to)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
pub(crate) const fn low(hash: u64) -> u32 {
    hash as u32
}

/// The hash of the flow of an unchecked `frame`; 0 if it is not IPv4. Fragments and protocols
/// without ports count as one flow between two addresses.
#[must_use]
pub fn flow_hash(frame: &[u8]) -> u32 {
    let Some(header) = frame.first_chunk::<34>() else { return 0 };
    if header[12..14] != [8, 0] || header[14] >> 4 != 4 {
        return 0;
    }
    let ip = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let is_fragment = u16::from_be_bytes([header[20], header[21]]) & 0x3fff != 0;
    let protocol = Protocol::from_number(header[23]);
    let ports_at = 14 + usize::from(header[14] & 15) * 4;
    let ports = match protocol {
        Protocol::Udp | Protocol::Tcp if !is_fragment => frame.get(ports_at..).and_then(|rest| rest.first_chunk::<4>()),
        _ => None,
    };
    let [a, b, c, d] = *ports.unwrap_or(&[0; 4]);
    let (from, to) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let flow = Flow { protocol, from: Endpoint { ip: ip(26), port: from }, to: Endpoint { ip: ip(30), port: to } };
    flow.hash()
}
