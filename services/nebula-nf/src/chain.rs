//! A chain of functions, and its verdict on a packet.

use crate::counter::Counter;
use crate::packet::{BadPacket, Packet};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use nebula_nic::Timestamp;

/// A packet's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From inside to outside: the chain's functions in their order.
    Outward,
    /// From outside to inside: in the opposite order, so that each function undoes its change of
    /// the other direction.
    Inward,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Its frame does not hold IPv4.
    NotIpv4,
    /// It is cut, or contradicts itself.
    Malformed,
    /// Nobody can be its source: a loopback, multicast or broadcast address, one of 0.0.0.0/8, or
    /// that of its destination.
    BadSource,
    /// It is a fragment, and a function needs ports.
    Fragment,
    /// Its hop limit is reached.
    HopLimit,
    /// A rule of the firewall.
    Firewall,
    /// NAT translates only TCP and UDP.
    NatProtocol,
    /// NAT has no port left.
    NatExhausted,
    /// No host inside has that port of the NAT.
    NatUnknown,
}

impl DropReason {
    /// All reasons, in their order.
    pub const ALL: [Self; 9] = [
        Self::NotIpv4,
        Self::Malformed,
        Self::BadSource,
        Self::Fragment,
        Self::HopLimit,
        Self::Firewall,
        Self::NatProtocol,
        Self::NatExhausted,
        Self::NatUnknown,
    ];

    /// In output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIpv4 => "not_ipv4",
            Self::Malformed => "malformed",
            Self::BadSource => "bad_source",
            Self::Fragment => "fragment",
            Self::HopLimit => "hop_limit",
            Self::Firewall => "firewall",
            Self::NatProtocol => "nat_protocol",
            Self::NatExhausted => "nat_exhausted",
            Self::NatUnknown => "nat_unknown",
        }
    }
}

impl From<BadPacket> for DropReason {
    fn from(bad: BadPacket) -> Self {
        match bad {
            BadPacket::NotIpv4 => Self::NotIpv4,
            BadPacket::Malformed => Self::Malformed,
        }
    }
}

/// A network function.
pub trait Function: Debug + Send {
    /// Lets a packet pass, perhaps rewritten, or says why it is dropped. `now` should not decrease
    /// from one call to the next: otherwise flows are merely remembered longer.
    ///
    /// # Errors
    ///
    /// [`DropReason`].
    fn handle(&mut self, now: Timestamp, direction: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason>;

    /// Whether it stands for an end of connections: then the packets of a flow must leave in their
    /// order of arrival.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Itself, if it is a counter.
    fn counter(&self) -> Option<&Counter> {
        None
    }
}

/// Functions that packets pass one after the other, with the counts of packets passed and dropped.
#[derive(Debug)]
pub struct Chain {
    functions: Vec<Box<dyn Function>>,
    passed: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl Chain {
    /// Without functions, packets are forwarded as by a router.
    #[must_use]
    pub fn new(functions: Vec<Box<dyn Function>>) -> Self {
        Self { functions, passed: 0, dropped: [0; DropReason::ALL.len()] }
    }

    /// Sends a packet through the functions: rewrites it in its frame and takes one hop. Returns
    /// the bytes of the frame that remain, without bytes behind the packet.
    ///
    /// # Errors
    ///
    /// [`DropReason`]: it is dropped and counted; the frame may be rewritten in part.
    pub fn handle(&mut self, now: Timestamp, direction: Direction, frame: &mut [u8]) -> Result<usize, DropReason> {
        let result = self.pass(now, direction, frame);
        match result {
            Ok(_) => self.passed += 1,
            Err(reason) => self.dropped[reason as usize] += 1,
        }
        result
    }

    fn pass(&mut self, now: Timestamp, direction: Direction, frame: &mut [u8]) -> Result<usize, DropReason> {
        let mut packet = Packet::parse(frame)?;
        if !packet.flow().has_possible_source() {
            return Err(DropReason::BadSource);
        }
        let mut go = |function: &mut Box<dyn Function>| function.handle(now, direction, &mut packet);
        match direction {
            Direction::Outward => self.functions.iter_mut().try_for_each(&mut go),
            Direction::Inward => self.functions.iter_mut().rev().try_for_each(&mut go),
        }?;
        if packet.hop() { Ok(packet.bytes()) } else { Err(DropReason::HopLimit) }
    }

    /// Packets that passed.
    #[must_use]
    pub const fn passed(&self) -> u64 {
        self.passed
    }

    /// Packets that were dropped for this reason.
    #[must_use]
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Its first counter, if it has one.
    #[must_use]
    pub fn counter(&self) -> Option<&Counter> {
        self.functions.iter().find_map(|function| function.counter())
    }

    /// Whether a function needs the order of flows kept.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.functions.iter().any(|function| function.keeps_order())
    }
}
