//! The messages of an ordered store: those of the key-value service ([`super`]), and SCAN.
//!
//! ```text
//! request of a SCAN   op 4 | key_bytes 1 | items 2 | 0 4 | key             the pairs from this key on, at most so many
//! value of its reply  key_bytes 1 | value_bytes 3 | key | value, again and again
//! ```
//!
//! Numbers are little-endian. A key-value service without SCAN refuses the operation. A reply
//! without room for more pairs ends early: the client asks again from behind the last key.

mod pairs;

pub use pairs::{NoPair, PAIR_HEADER_BYTES, Pair, Pairs, pair_header};

use super::{self as key_value, HEADER_BYTES, ProtocolError};

/// The operation in the first byte of a SCAN.
pub const OP_SCAN: u8 = key_value::OPERATIONS + 1;

/// Operations, numbered from 1 in the first byte of a request.
pub const OPERATIONS: u8 = OP_SCAN;

/// A client's request.
///
/// # Examples
///
/// ```
/// use nebula_kvs::protocol::scan::Request;
///
/// let mut buffer = [0; 16];
/// let asked = Request::Scan { from: b"user", items: 100 };
/// let bytes = asked.encode_into(&mut buffer)?;
/// assert_eq!(Request::decode(&buffer[..bytes])?, asked);
/// # Ok::<(), nebula_kvs::protocol::ProtocolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// GET, SET or DELETE.
    Pair(key_value::Request<'a>),
    /// Reads the pairs from the key `from` on, in ascending order.
    Scan {
        /// 1..=255 bytes.
        from: &'a [u8],
        /// The most pairs.
        items: u16,
    },
}

impl<'a> Request<'a> {
    /// Reads a request from the whole payload of an RPC.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] for anything that [`encode_into`](Self::encode_into) would not have
    /// written.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        if bytes.first() == Some(&OP_SCAN) {
            Self::decode_scan(bytes)
        } else {
            Ok(Self::Pair(key_value::Request::decode(bytes)?))
        }
    }

    fn decode_scan(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        let short = ProtocolError::Short { got: bytes.len() };
        let (header, from) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(short)?;
        let [_, key_bytes, items @ .., _, _, _, _] = *header;
        check_key(key_bytes.into())?;
        if header[4..] != [0; 4] {
            return Err(ProtocolError::ValueBytes { got: value_bytes(header), max: 0 });
        }
        let announced = HEADER_BYTES + usize::from(key_bytes);
        if announced != bytes.len() {
            return Err(ProtocolError::Length { announced, got: bytes.len() });
        }
        Ok(Self::Scan { from, items: u16::from_le_bytes(items) })
    }

    /// Bytes of the encoded request.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        match self {
            Self::Pair(request) => request.encoded_bytes(),
            Self::Scan { from, .. } => HEADER_BYTES + from.len(),
        }
    }

    /// Writes the request to the start of `buffer` and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] if the key or the value is outside its limits, or the buffer is too short;
    /// nothing is written then.
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, ProtocolError> {
        match *self {
            Self::Pair(request) => request.encode_into(buffer),
            Self::Scan { from, items } => encode_scan(from, items, buffer),
        }
    }
}

fn encode_scan(from: &[u8], items: u16, buffer: &mut [u8]) -> Result<usize, ProtocolError> {
    let key_bytes = check_key(from.len())?;
    let (needed, got) = (HEADER_BYTES + from.len(), buffer.len());
    let message = buffer.get_mut(..needed).ok_or(ProtocolError::BufferTooShort { needed, got })?;
    let [low, high] = items.to_le_bytes();
    message[..HEADER_BYTES].copy_from_slice(&[OP_SCAN, key_bytes, low, high, 0, 0, 0, 0]);
    message[HEADER_BYTES..].copy_from_slice(from);
    Ok(needed)
}

fn check_key(got: usize) -> Result<u8, ProtocolError> {
    u8::try_from(got).ok().filter(|&bytes| bytes > 0).ok_or(ProtocolError::KeyBytes { got })
}

fn value_bytes(header: &[u8; HEADER_BYTES]) -> usize {
    let [.., a, b, c, d] = *header;
    u32::from_le_bytes([a, b, c, d]) as usize
}
