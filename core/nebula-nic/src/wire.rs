//! Station 2: *what does this packet say?*
//!
//! The header of a packet, its 24 bytes on the wire, and the split of an RPC into packets of at
//! most one MTU. [`Header::decode`] accepts any bytes and reports all that are not a header of this
//! version as an error. Later stations check whether the header agrees with other packets.
//!
//! ```text
//! byte  0        1     2..4    4..8  8..12  12..16     16..20   20..24       little-endian
//!       version  kind  domain  snid  tid    rpc_bytes  pkt_idx  key_hash or NACK code
//! ```
//!
//! Next: station 3, [`admission`](crate::admission).

use crate::id::{DomainId, NodeId, RpcKey, SLOT_BYTES, TransferId};
use crate::verdict::NackReason;

/// The version that this crate writes, and the only one it reads.
pub const WIRE_VERSION: u8 = 1;

/// What a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Part of a request.
    #[default]
    Request = 1,
    /// Part of a reply; `snid` and `tid` are those of the request it answers.
    Reply = 2,
    /// The request was refused; `key_hash` holds the reason.
    Nack = 3,
    /// The request was received; sent only by transports that acknowledge.
    Ack = 4,
}

impl Kind {
    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Request,
            2 => Self::Reply,
            3 => Self::Nack,
            4 => Self::Ack,
            _ => return None,
        })
    }
}

/// The header of one packet.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Header, Kind, NodeId, TransferId};
///
/// let header = Header { kind: Kind::Request, snid: NodeId(3), tid: TransferId(5), rpc_bytes: 192, pkt_idx: 1, key_hash: 0 };
/// assert_eq!(Header::decode(&header.encode()), Ok(header));
/// assert!(Header::decode(b"GET / HTTP/1.1\r\nHost: a\r\n").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// What the packet is.
    pub kind: Kind,
    /// The node that sent the request.
    pub snid: NodeId,
    /// Its number for the transfer.
    pub tid: TransferId,
    /// Payload of the whole RPC, in bytes.
    pub rpc_bytes: u32,
    /// Which of the RPC's packets this is, from 0.
    pub pkt_idx: u32,
    /// Hash of the key the RPC is about, for `key-hash`; the reason's code in a NACK.
    pub key_hash: u32,
}

/// The bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than a header has.
    #[error("{got} bytes are too few for a header of {expected}", expected = Header::BYTES)]
    TooShort {
        /// The length given.
        got: usize,
    },
    /// Another version, or not a header at all.
    #[error("version {got} is not version {expected}", expected = WIRE_VERSION)]
    Version {
        /// The version read.
        got: u8,
    },
    /// An unknown kind.
    #[error("unknown kind {got}: use request (1), reply (2), nack (3) or ack (4)")]
    Kind {
        /// The code read.
        got: u8,
    },
    /// A packet of another messaging domain.
    #[error("the packet is for domain {got} and not for {expected}", got = got.0, expected = expected.0)]
    Domain {
        /// The packet's domain.
        got: DomainId,
        /// The reader's.
        expected: DomainId,
    },
}

impl Header {
    /// Length of a header on the wire.
    pub const BYTES: usize = 24;

    /// The header's bytes, in messaging domain 0.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        self.encode_in(DomainId(0))
    }

    /// The header's bytes, in messaging domain `domain`.
    #[must_use]
    #[inline]
    pub fn encode_in(&self, domain: DomainId) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = WIRE_VERSION;
        bytes[1] = self.kind as u8;
        bytes[2..4].copy_from_slice(&domain.0.to_le_bytes());
        let words = [self.snid.0, self.tid.0, self.rpc_bytes, self.pkt_idx, self.key_hash];
        for (field, word) in bytes[4..].chunks_exact_mut(4).zip(words) {
            field.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a header of messaging domain 0 from the first [`Header::BYTES`] of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_in(bytes, DomainId(0))
    }

    /// Reads a header of messaging domain `domain` from the first [`Header::BYTES`] of `bytes`.
    #[inline]
    pub fn decode_in(bytes: &[u8], domain: DomainId) -> Result<Self, DecodeError> {
        let bytes = bytes.first_chunk::<{ Self::BYTES }>().ok_or(DecodeError::TooShort { got: bytes.len() })?;
        if bytes[0] != WIRE_VERSION {
            return Err(DecodeError::Version { got: bytes[0] });
        }
        let kind = Kind::from_code(bytes[1]).ok_or(DecodeError::Kind { got: bytes[1] })?;
        let got = DomainId(u16::from_le_bytes([bytes[2], bytes[3]]));
        if got != domain {
            return Err(DecodeError::Domain { got, expected: domain });
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok(Self {
            kind,
            snid: NodeId(word(4)),
            tid: TransferId(word(8)),
            rpc_bytes: word(12),
            pkt_idx: word(16),
            key_hash: word(20),
        })
    }

    /// The RPC that the packet belongs to.
    #[must_use]
    #[inline]
    pub const fn rpc(&self) -> RpcKey {
        RpcKey { snid: self.snid, tid: self.tid }
    }

    /// The NACK that refuses the request `rpc`.
    #[must_use]
    #[inline]
    pub const fn nack(rpc: RpcKey, reason: NackReason) -> Self {
        let code = reason.code() as u32;
        Self { kind: Kind::Nack, snid: rpc.snid, tid: rpc.tid, rpc_bytes: 0, pkt_idx: 0, key_hash: code }
    }

    /// Packet `pkt_idx` of a reply of `rpc_bytes` bytes to the request `rpc`.
    #[must_use]
    #[inline]
    pub const fn reply(rpc: RpcKey, rpc_bytes: u32, pkt_idx: u32) -> Self {
        Self { kind: Kind::Reply, snid: rpc.snid, tid: rpc.tid, rpc_bytes, pkt_idx, key_hash: 0 }
    }

    /// Why the request was refused, if this is a NACK with a known reason.
    #[must_use]
    pub fn nack_reason(&self) -> Option<NackReason> {
        let code = u8::try_from(self.key_hash).ok()?;
        if self.kind == Kind::Nack { NackReason::from_code(code) } else { None }
    }
}

/// Slots that an RPC of `rpc_bytes` payload bytes takes: at least one, its own.
#[must_use]
#[inline]
pub const fn slots_of(rpc_bytes: u32) -> u32 {
    // Not `div_ceil`: no overflow at `u32::MAX`, and one slot for an empty payload.
    (rpc_bytes.saturating_sub(1) / SLOT_BYTES) + 1
}

/// The most payload that one packet carries: a multiple of 16 B, at least 48 B.
///
/// The papers' is 64 B, so that each packet begins a slot. A slot of a ring in shared memory has a
/// header of 16 B and its payload in whole cache lines.
///
/// # Examples
///
/// ```
/// use nebula_nic::Mtu;
///
/// let mtu = Mtu::try_new(1472).unwrap();
/// assert_eq!((mtu.bytes(), mtu.packets(4000), mtu.packet_bytes(4000, 2)), (1472, 3, 1056));
/// assert_eq!(mtu.packets(0), 1, "an RPC without payload is one packet");
/// assert!(Mtu::try_new(48).is_ok() && Mtu::try_new(100).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu {
    bytes: u32,
    /// `packets` divides by the MTU as a multiplication by `multiplier` and a shift.
    multiplier: u32,
    shift: u32,
}

/// The MTU is not a multiple of 16 bytes from 48 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an MTU of {bytes} bytes is not possible: give a multiple of 16 from 48 on, such as 64 or 1408")]
pub struct MtuError {
    bytes: u32,
}

const UNIT_BYTES: u32 = 16;
/// An RPC has at most 2^28 units, so a quotient of units is exact with this many bits.
const UNIT_COUNT_BITS: u32 = 32 - UNIT_BYTES.ilog2();

impl Mtu {
    /// One cache block, the papers' NIC.
    pub const MIN: Self = Self { bytes: SLOT_BYTES, multiplier: 1, shift: (SLOT_BYTES / UNIT_BYTES).ilog2() };

    /// The least payload of a packet: one cache block with the header of a ring's slot.
    pub const BYTES_MIN: u32 = 48;

    /// An MTU of `bytes`.
    ///
    /// # Errors
    ///
    /// If `bytes` is less than 48 or not a multiple of 16.
    pub const fn try_new(bytes: u32) -> Result<Self, MtuError> {
        if bytes < Self::BYTES_MIN || !bytes.is_multiple_of(UNIT_BYTES) {
            return Err(MtuError { bytes });
        }
        let (multiplier, shift) = reciprocal(bytes / UNIT_BYTES);
        Ok(Self { bytes, multiplier, shift })
    }

    /// The MTU in bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// The packets of an RPC of `rpc_bytes` payload bytes; without payload, one. Takes one
    /// multiplication and a shift.
    #[must_use]
    #[inline]
    pub const fn packets(self, rpc_bytes: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "a quotient of a u32 is a u32")]
        let before_last =
            (((rpc_bytes.saturating_sub(1) / UNIT_BYTES) as u64 * self.multiplier as u64) >> self.shift) as u32;
        before_last + 1
    }

    /// Payload bytes of packet `pkt_idx`: the MTU, fewer in the last packet, and 0 past it.
    #[must_use]
    #[inline]
    pub const fn packet_bytes(self, rpc_bytes: u32, pkt_idx: u32) -> u32 {
        let left = match pkt_idx.checked_mul(self.bytes) {
            Some(before) => rpc_bytes.saturating_sub(before),
            None => 0,
        };
        if left < self.bytes { left } else { self.bytes }
    }
}

/// `(multiplier, shift)` with `x / units == (x * multiplier) >> shift` for every `x` below 2^28.
///
/// With `shift = 28 + ceil(log2 units)` and the multiplier rounded up, the error of the product
/// stays below `x / 2^28 < 1` parts of the divisor, so the quotient never changes (Granlund and
/// Montgomery).
const fn reciprocal(units: u32) -> (u32, u32) {
    if units.is_power_of_two() {
        return (1, units.ilog2());
    }
    let shift = UNIT_COUNT_BITS + units.ilog2() + 1;
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^29, since units > 2^ilog2(units)")]
    let multiplier = (1_u64 << shift).div_ceil(units as u64) as u32;
    (multiplier, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_is_the_rounded_up_quotient_at_every_border() {
        for units in (3..800).chain([4000, 1 << 22, (1 << 28) - 1]) {
            let mtu = Mtu::try_new(units * UNIT_BYTES).unwrap();
            for multiple in [1, 2, 3, 7, 100, 335_544, 1 << 20] {
                let border = u64::from(mtu.bytes()) * multiple;
                for bytes in [border.saturating_sub(1), border, border + 1] {
                    let Ok(bytes) = u32::try_from(bytes) else { continue };
                    assert_eq!(mtu.packets(bytes), bytes.div_ceil(mtu.bytes()).max(1), "{bytes} B at {mtu:?}");
                }
            }
            assert_eq!(mtu.packets(u32::MAX), u32::MAX.div_ceil(mtu.bytes()));
        }
    }

    #[test]
    fn packets_carry_the_payload_exactly_once() {
        for (mtu, bytes) in
            [(48, 0), (48, 49), (624, 625), (64, 0), (64, 64), (64, 65), (192, 1000), (4096, 4096), (4096, 12_289)]
        {
            let mtu = Mtu::try_new(mtu).unwrap();
            let carried: u32 = (0..mtu.packets(bytes)).map(|idx| mtu.packet_bytes(bytes, idx)).sum();
            assert_eq!(carried, bytes);
            assert_eq!(mtu.packet_bytes(bytes, mtu.packets(bytes)), 0);
        }
        assert_eq!(Mtu::MIN.packet_bytes(u32::MAX, u32::MAX), 0);
    }

    #[test]
    fn a_nack_carries_its_reason() {
        let rpc = RpcKey { snid: NodeId(1), tid: TransferId(2) };
        let nack = Header::nack(rpc, NackReason::QueueBound);
        assert_eq!((nack.rpc(), nack.nack_reason()), (rpc, Some(NackReason::QueueBound)));
        assert_eq!(Header { key_hash: 77, ..nack }.nack_reason(), None);
        assert_eq!(Header::reply(rpc, 10, 0).nack_reason(), None);
    }

    #[test]
    fn another_domain_is_told_apart() {
        let bytes = Header::default().encode_in(DomainId(7));
        assert_eq!(Header::decode_in(&bytes, DomainId(7)), Ok(Header::default()));
        let refused = Header::decode(&bytes);
        assert_eq!(refused, Err(DecodeError::Domain { got: DomainId(7), expected: DomainId(0) }));
    }
}
