//! The message formats of the key-value service: requests and replies.
//!
//! A request or a reply is the payload of one RPC, which has its length. Numbers are little-endian.
//!
//! ```text
//! request  op 1 | key_bytes 1 | reserved 2 | value_bytes 4 | key | value      GET of a 16 B key: 24 B; SET of 16 B/8 B: 32 B
//! reply    status 1 | reserved 3           | value_bytes 4 | value            answer to SET or DELETE: 8 B
//! ```
//!
//! Decoding accepts any bytes and borrows from them; encoding writes into the caller's buffer.
//! Neither allocates. Reserved bytes must be zero, so that an older peer refuses a later version
//! that gives them a meaning.

pub mod scan;

use crate::shape::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Bytes of the header of a request and of a reply.
pub const HEADER_BYTES: usize = 8;

const OP_GET: u8 = 1;
const OP_SET: u8 = 2;
const OP_DELETE: u8 = 3;

/// Operations, numbered from 1 in the first byte of a request.
pub const OPERATIONS: u8 = OP_DELETE;

/// Why a message could not be decoded or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The message is shorter than a header.
    #[error("message of {got} bytes is shorter than its {HEADER_BYTES}-byte header")]
    Short {
        /// Bytes received.
        got: usize,
    },
    /// The header announces another length than the message has.
    #[error("the header announces {announced} bytes but the message has {got}")]
    Length {
        /// Length announced by the header, including the header.
        announced: usize,
        /// Bytes received.
        got: usize,
    },
    /// An unknown operation code.
    #[error("unknown operation code {code}; use 1 (GET), 2 (SET) or 3 (DELETE)")]
    Opcode {
        /// The code received.
        code: u8,
    },
    /// An unknown status code.
    #[error(
        "unknown status code {code}; use 0 (ok), 1 (not found), 2 (full), 3 (malformed), 4 (other partition) or 5 (unknown)"
    )]
    StatusCode {
        /// The code received.
        code: u8,
    },
    /// Reserved bytes are not zero.
    #[error("reserved bytes of the header are not zero")]
    Reserved,
    /// A key outside 1..=255 bytes.
    #[error("key of {got} bytes is outside 1..={KEY_BYTES_MAX}")]
    KeyBytes {
        /// The key's length in bytes.
        got: usize,
    },
    /// A value over the limit, or a value for an operation without one.
    #[error("value of {got} bytes exceeds the {max} bytes that this message may carry")]
    ValueBytes {
        /// The value's length in bytes.
        got: usize,
        /// The longest value that the message may carry.
        max: usize,
    },
    /// The caller's buffer is too short for the message.
    #[error("buffer of {got} bytes is too short for a message of {needed} bytes")]
    BufferTooShort {
        /// Bytes that the message needs.
        needed: usize,
        /// Length of the buffer.
        got: usize,
    },
}

/// A client's request.
///
/// # Examples
///
/// ```
/// use nebula_kvs::protocol::Request;
/// let mut buffer = [0; 64];
/// let asked = Request::Set { key: b"sixteen-byte-key", value: b"8 bytes!" };
/// let bytes = asked.encode_into(&mut buffer)?;
/// assert_eq!(bytes, 32);
/// assert_eq!(Request::decode(&buffer[..bytes])?, asked);
/// # Ok::<(), nebula_kvs::protocol::ProtocolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Reads the value of a key.
    Get {
        /// 1..=255 bytes.
        key: &'a [u8],
    },
    /// Stores a value under a key.
    Set {
        /// 1..=255 bytes.
        key: &'a [u8],
        /// Up to 1 MiB − 1.
        value: &'a [u8],
    },
    /// Removes a key.
    Delete {
        /// 1..=255 bytes.
        key: &'a [u8],
    },
}

impl<'a> Request<'a> {
    /// Reads a request from the payload of an RPC. O(1): key and value are borrowed, not read.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] for anything that [`encode_into`](Self::encode_into) would not have
    /// written.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        let (header, body) = split_header(bytes)?;
        let [op, key_bytes, reserved @ .., _, _, _, _] = *header;
        let key_bytes = usize::from(key_bytes);
        let value_bytes = value_bytes_of(header);
        check_lengths(reserved, key_bytes + value_bytes, body.len())?;
        check_key(key_bytes)?;
        check_value(value_bytes, if op == OP_SET { VALUE_BYTES_MAX } else { 0 })?;
        let (key, value) = body.split_at(key_bytes);
        match op {
            OP_GET => Ok(Self::Get { key }),
            OP_SET => Ok(Self::Set { key, value }),
            OP_DELETE => Ok(Self::Delete { key }),
            code => Err(ProtocolError::Opcode { code }),
        }
    }

    /// The key of the request.
    #[must_use]
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Self::Get { key } | Self::Set { key, .. } | Self::Delete { key } => key,
        }
    }

    /// Bytes of the encoded request.
    #[inline]
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        HEADER_BYTES + self.key().len() + self.value().len()
    }

    /// Writes the request to the start of `buffer` and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] if the key or the value is outside its limits, or the buffer is too short;
    /// nothing is written then.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, ProtocolError> {
        let (key, value) = (self.key(), self.value());
        let key_bytes = check_key(key.len())?;
        let value_bytes = check_value(value.len(), VALUE_BYTES_MAX)?;
        let needed = self.encoded_bytes();
        let got = buffer.len();
        let message = buffer.get_mut(..needed).ok_or(ProtocolError::BufferTooShort { needed, got })?;
        message[..HEADER_BYTES].copy_from_slice(&header([self.opcode(), key_bytes, 0, 0], value_bytes));
        message[HEADER_BYTES..HEADER_BYTES + key.len()].copy_from_slice(key);
        message[HEADER_BYTES + key.len()..].copy_from_slice(value);
        Ok(needed)
    }

    #[inline]
    fn opcode(&self) -> u8 {
        match self {
            Self::Get { .. } => OP_GET,
            Self::Set { .. } => OP_SET,
            Self::Delete { .. } => OP_DELETE,
        }
    }

    #[inline]
    fn value(&self) -> &'a [u8] {
        match *self {
            Self::Set { value, .. } => value,
            Self::Get { .. } | Self::Delete { .. } => &[],
        }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Success; a GET's value follows.
    Ok = 0,
    /// No such key.
    NotFound = 1,
    /// The store has no space for the item.
    Full = 2,
    /// The request could not be decoded.
    Malformed = 3,
    /// The key belongs to another worker's partition: the RPC did not carry the
    /// [hash](steering_hash) of its key.
    OtherPartition = 4,
    /// A replicated store cannot tell whether the write is or will be executed: read the key, or
    /// repeat an idempotent write.
    Unknown = 5,
}

/// The hash that an RPC about a key carries for the policy `key-hash`: the low half of
/// [`KeyHash`](crate::KeyHash).
#[cfg(feature = "store")]
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the low half")]
pub fn steering_hash(hash: crate::KeyHash) -> u32 {
    hash.0 as u32
}

impl TryFrom<u8> for Status {
    type Error = ProtocolError;

    #[inline]
    fn try_from(code: u8) -> Result<Self, ProtocolError> {
        match code {
            0 => Ok(Self::Ok),
            1 => Ok(Self::NotFound),
            2 => Ok(Self::Full),
            3 => Ok(Self::Malformed),
            4 => Ok(Self::OtherPartition),
            5 => Ok(Self::Unknown),
            code => Err(ProtocolError::StatusCode { code }),
        }
    }
}

/// The service's reply.
///
/// # Examples
///
/// ```
/// use nebula_kvs::protocol::{Reply, Status};
/// let mut buffer = [0; 16];
/// let bytes = Reply { status: Status::Ok, value: b"value" }.encode_into(&mut buffer)?;
/// assert_eq!(Reply::decode(&buffer[..bytes])?.value, b"value");
/// # Ok::<(), nebula_kvs::protocol::ProtocolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The outcome of the request.
    pub status: Status,
    /// The value, for a GET that found one.
    pub value: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Reads a reply from the whole payload of an RPC.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] for anything that [`encode_into`](Self::encode_into) would not have
    /// written.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        let (header, value) = split_header(bytes)?;
        let [status, reserved @ .., _, _, _, _] = *header;
        check_lengths(reserved, value_bytes_of(header), value.len())?;
        let status = Status::try_from(status)?;
        check_value(value.len(), if status == Status::Ok { VALUE_BYTES_MAX } else { 0 })?;
        Ok(Self { status, value })
    }

    /// The header of a reply whose value of `value_bytes` bytes the caller writes separately.
    #[inline]
    #[must_use]
    pub fn header(status: Status, value_bytes: u32) -> [u8; HEADER_BYTES] {
        header([status as u8, 0, 0, 0], value_bytes)
    }

    /// Bytes of the encoded reply.
    #[inline]
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        HEADER_BYTES + self.value.len()
    }

    /// Writes the reply to the start of `buffer` and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] if the value exceeds its limit, or the buffer is too short; nothing is
    /// written then.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, ProtocolError> {
        let value_bytes = check_value(self.value.len(), if self.status == Status::Ok { VALUE_BYTES_MAX } else { 0 })?;
        let needed = self.encoded_bytes();
        let got = buffer.len();
        let message = buffer.get_mut(..needed).ok_or(ProtocolError::BufferTooShort { needed, got })?;
        message[..HEADER_BYTES].copy_from_slice(&Self::header(self.status, value_bytes));
        message[HEADER_BYTES..].copy_from_slice(self.value);
        Ok(needed)
    }
}

/// One word, built in a register and not byte by byte in memory.
#[inline]
fn header(first: [u8; 4], value_bytes: u32) -> [u8; HEADER_BYTES] {
    (u64::from(u32::from_le_bytes(first)) | u64::from(value_bytes) << 32).to_le_bytes()
}

#[inline(always)]
fn split_header(bytes: &[u8]) -> Result<(&[u8; HEADER_BYTES], &[u8]), ProtocolError> {
    bytes.split_first_chunk().ok_or(ProtocolError::Short { got: bytes.len() })
}

#[inline(always)]
fn value_bytes_of(header: &[u8; HEADER_BYTES]) -> usize {
    let [.., a, b, c, d] = *header;
    u32::from_le_bytes([a, b, c, d]) as usize
}

#[inline(always)]
fn check_lengths<const N: usize>(reserved: [u8; N], announced: usize, got: usize) -> Result<(), ProtocolError> {
    if announced != got {
        return Err(ProtocolError::Length { announced: HEADER_BYTES + announced, got: HEADER_BYTES + got });
    }
    if reserved != [0; N] { Err(ProtocolError::Reserved) } else { Ok(()) }
}

#[inline(always)]
fn check_key(got: usize) -> Result<u8, ProtocolError> {
    u8::try_from(got).ok().filter(|&bytes| bytes > 0).ok_or(ProtocolError::KeyBytes { got })
}

#[inline(always)]
fn check_value(got: usize, max: usize) -> Result<u32, ProtocolError> {
    u32::try_from(got).ok().filter(|_| got <= max).ok_or(ProtocolError::ValueBytes { got, max })
}
