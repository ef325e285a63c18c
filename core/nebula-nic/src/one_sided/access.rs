//! One operation: its 32 bytes on the wire, and the reasons to refuse it.
//!
//! ```text
//! byte  0     1      2..4   4..8    8..16  16..24                            24..32     little-endian
//!       kind  flags  bytes  region  at     version's offset, or expected     desired    then the bytes of a write
//! ```

use super::rights::Rights;
use super::table::RegionId;

/// Bytes of an operation, without the data that it writes.
pub const ACCESS_BYTES: usize = 32;

/// Flag of a read: there is a version word, and all bytes belong to one version.
const WHOLE: u8 = 1;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessKind {
    /// Reads bytes, each aligned word at once. With a version word, all bytes belong to one
    /// version, or the read is refused as [torn](AccessRefusal::Torn).
    Read {
        /// Offset of the version word in the region, a multiple of 8.
        version_at: Option<u64>,
    },
    /// Writes the bytes that follow, each whole aligned word at once.
    Write,
    /// Atomically replaces the word there by `desired` if it is `expected`; returns the old word.
    CompareSwap {
        /// The word that must be there.
        expected: u64,
        /// The word that replaces it.
        desired: u64,
    },
}

/// A one-sided operation of one block.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Access, AccessKind, AccessRefusal, RegionId};
///
/// let read = Access { kind: AccessKind::Read { version_at: None }, region: RegionId(3), at: 128, bytes: 64 };
/// assert_eq!(Access::decode(&read.encode()), Ok((read, &[][..])));
/// assert_eq!(Access::decode(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n"), Err(AccessRefusal::Malformed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// The region that it names.
    pub region: RegionId,
    /// Where in the region, in bytes from its beginning.
    pub at: u64,
    /// How many bytes; 8 for a compare-and-swap.
    pub bytes: u32,
}

impl Access {
    /// The rights that it needs.
    #[must_use]
    pub const fn rights(&self) -> Rights {
        match self.kind {
            AccessKind::Read { .. } => Rights::READ,
            AccessKind::Write => Rights::WRITE,
            AccessKind::CompareSwap { .. } => Rights::from_bits(Rights::READ.bits() | Rights::WRITE.bits()),
        }
    }

    /// Its bytes on the wire, without the data that it writes. Of a length above 65,535 only the
    /// low 16 bits are encoded.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a block has 64 bytes")]
    pub fn encode(&self) -> [u8; ACCESS_BYTES] {
        let (kind, flags, third, fourth): (u64, u64, _, _) = match self.kind {
            AccessKind::Read { version_at: None } => (1, 0, 0, 0),
            AccessKind::Read { version_at: Some(at) } => (1, WHOLE.into(), at, 0),
            AccessKind::Write => (2, 0, 0, 0),
            AccessKind::CompareSwap { expected, desired } => (3, 0, expected, desired),
        };
        let first = kind | flags << 8 | (self.bytes as u16 as u64) << 16 | (self.region.0 as u64) << 32;
        let mut bytes = [0; ACCESS_BYTES];
        let words = [first.to_le_bytes(), self.at.to_le_bytes(), third.to_le_bytes(), fourth.to_le_bytes()];
        bytes.as_chunks_mut().0.copy_from_slice(&words);
        bytes
    }

    /// Decodes an operation and the data that it writes.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Malformed`] if the bytes are not exactly one operation with its data.
    pub fn decode(message: &[u8]) -> Result<(Self, &[u8]), AccessRefusal> {
        let (head, data) = message.split_first_chunk::<ACCESS_BYTES>().ok_or(AccessRefusal::Malformed)?;
        let &[[kind, flags, low, high, region @ ..], at, third, fourth] = head.as_chunks::<8>().0 else {
            return Err(AccessRefusal::Malformed);
        };
        let kind = match (kind, flags, u64::from_le_bytes(third), u64::from_le_bytes(fourth)) {
            (1, 0, 0, 0) => AccessKind::Read { version_at: None },
            (1, WHOLE, at, 0) => AccessKind::Read { version_at: Some(at) },
            (2, 0, 0, 0) => AccessKind::Write,
            (3, 0, expected, desired) => AccessKind::CompareSwap { expected, desired },
            _ => return Err(AccessRefusal::Malformed),
        };
        let bytes = u32::from(u16::from_le_bytes([low, high]));
        let expected = if kind == AccessKind::Write { bytes as usize } else { 0 };
        if data.len() != expected {
            return Err(AccessRefusal::Malformed);
        }
        Ok((Self { kind, region: RegionId(u32::from_le_bytes(region)), at: u64::from_le_bytes(at), bytes }, data))
    }
}

/// Why an operation was refused. Nothing was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AccessRefusal {
    /// The bytes are not an operation.
    #[error("the operation is unknown to the server: build client and server from one release")]
    Malformed = 1,
    /// There is no such region: never registered, or revoked.
    #[error("no such region: it was never registered, or it was revoked")]
    Unknown = 2,
    /// The region is another messaging domain's.
    #[error("the region is registered in another messaging domain")]
    Domain = 3,
    /// The region was registered without the right.
    #[error("the region was registered without this right")]
    Rights = 4,
    /// Some of the bytes are outside the region.
    #[error("the operation reaches beyond the region")]
    Bounds = 5,
    /// A compare-and-swap, or a version word, does not begin at a multiple of 8 bytes.
    #[error("a compare-and-swap and a version word have 8 bytes and begin at a multiple of 8")]
    Unaligned = 6,
    /// More bytes than a block has.
    #[error("one operation has at most {} bytes on the wire", super::block::BLOCK_BYTES)]
    TooLong = 7,
    /// The object was being written at each try.
    #[error("the object was being written each time that it was read: try again")]
    Torn = 8,
}

impl AccessRefusal {
    const ALL: [Self; 8] = [
        Self::Malformed,
        Self::Unknown,
        Self::Domain,
        Self::Rights,
        Self::Bounds,
        Self::Unaligned,
        Self::TooLong,
        Self::Torn,
    ];

    /// The code on the wire, from 1.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The refusal of this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_refusals_survive_the_way_there() {
        let kinds = [
            AccessKind::Read { version_at: None },
            AccessKind::Read { version_at: Some(u64::MAX) },
            AccessKind::Write,
            AccessKind::CompareSwap { expected: 1, desired: u64::MAX },
        ];
        for kind in kinds {
            let access = Access { kind, region: RegionId(0x1_0002), at: u64::MAX - 3, bytes: 0 };
            assert_eq!(Access::decode(&access.encode()), Ok((access, &[][..])));
        }
        for refusal in AccessRefusal::ALL {
            assert_eq!(AccessRefusal::from_code(refusal.code()), Some(refusal));
        }
        assert_eq!([0, 9, 255].map(AccessRefusal::from_code), [None; 3]);
    }

    #[test]
    fn a_write_has_exactly_the_bytes_that_it_says() {
        let write = Access { kind: AccessKind::Write, region: RegionId(0), at: 0, bytes: 3 };
        let mut message = write.encode().to_vec();
        message.extend(b"abc");
        assert_eq!(Access::decode(&message), Ok((write, &b"abc"[..])));
        for wrong in [&message[..34], &[&message[..], b"d"].concat()] {
            assert_eq!(Access::decode(wrong), Err(AccessRefusal::Malformed));
        }
        message[1] = 2;
        assert_eq!(Access::decode(&message), Err(AccessRefusal::Malformed), "an unknown flag");
    }
}
