//! A chain of functions, and what becomes of a packet.

use crate::counter::Counter;
use crate::packet::{BadPacket, Packet};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use nebula_nic::Timestamp;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From inside to outside: the functions of a chain in their order.
    Outward,
    /// From outside to inside: in the opposite order, so that each undoes for an answer what it did
    /// to the question.
    Inward,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Its frame does not hold IPv4.
    NotIpv4,
    /// It is cut, or contradicts itself.
    Malformed,
    /// It is a fragment, whose ports a function would need.
    Fragment,
    /// It has no hop left.
    HopLimit,
    /// A rule of the firewall.
    Firewall,
    /// NAT translates TCP and UDP alone.
    NatProtocol,
    /// NAT has no port left.
    NatExhausted,
    /// It is for a port of the NAT's that no host inside has.
    NatUnknown,
}

impl DropReason {
    /// All reasons, in their order.
    pub const ALL: [Self; 8] = [
        Self::NotIpv4,
        Self::Malformed,
        Self::Fragment,
        Self::HopLimit,
        Self::Firewall,
        Self::NatProtocol,
        Self::NatExhausted,
        Self::NatUnknown,
    ];

    /// Its name, as in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIpv4 => "not_ipv4",
            Self::Malformed => "malformed",
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
    /// Lets a packet pass, perhaps rewritten, or says why it is dropped. `now` does not decrease
    /// from one call to the next; if it does, what is known of flows merely stays longer.
    ///
    /// # Errors
    ///
    /// [`DropReason`].
    fn handle(&mut self, now: Timestamp, direction: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason>;

    /// Whether it stands for an end of connections, so that the packets of a flow have to leave in
    /// the order in which they came.
    fn keeps_order(&self) -> bool {
        false
    }

    /// It, if it is a counter.
    fn counter(&self) -> Option<&Counter> {
        None
    }
}

/// Functions that packets go through, one after the other, and what was dropped.
#[derive(Debug)]
pub struct Chain {
    functions: Vec<Box<dyn Function>>,
    passed: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl Chain {
    /// A chain of these functions. Without any, packets are forwarded as a router does.
    #[must_use]
    pub fn new(functions: Vec<Box<dyn Function>>) -> Self {
        Self { functions, passed: 0, dropped: [0; DropReason::ALL.len()] }
    }

    /// Has a packet go through, rewritten in its frame, with a hop less. Returns the bytes of the
    /// frame that is left: what stood behind the packet is none of it.
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

    /// Whether one of its functions needs the order of flows kept.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.functions.iter().any(|function| function.keeps_order())
    }
}
