//! The header of a datagram: the request's number, and which piece of how many it is.
//!
//! ```text
//! request 2 | piece 2 | pieces 2 | reserved 2      big-endian
//! ```

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;

/// The header before each datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The client's number of its request, which answers repeat.
    pub request: u16,
    /// Which datagram of the message this is, from 0.
    pub piece: u16,
    /// Datagrams of the message.
    pub pieces: u16,
}

impl Header {
    /// Reads it from the beginning of a datagram; `None` if that is shorter.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let &[a, b, c, d, e, f, _, _] = datagram.first_chunk()?;
        Some(Self {
            request: u16::from_be_bytes([a, b]),
            piece: u16::from_be_bytes([c, d]),
            pieces: u16::from_be_bytes([e, f]),
        })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let ([a, b], [c, d], [e, f]) =
            (self.request.to_be_bytes(), self.piece.to_be_bytes(), self.pieces.to_be_bytes());
        [a, b, c, d, e, f, 0, 0]
    }
}
