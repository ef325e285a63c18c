//! The header of a datagram, 32 bytes: its sender, the server's run, and the kind of contents.
//!
//! ```text
//! byte  0        1     2      3       4..8   8..16        16..20  20..22          22..24   24..32      little-endian
//!       version  kind  flags  domain  check  incarnation  snid    datagram_bytes  key tag  token or time
//! ```
//!
//! Any bytes can be read: an invalid frame is an error and never a panic.

use crate::rpc::numbered::numbered;
use crate::rpc::recipient::Cover;
use nebula_nic::NodeId;

/// The only version that this crate writes and reads.
pub(crate) const UDP_VERSION: u8 = 2;
/// The longest datagram over IPv4, which a server accepts.
pub(crate) const DATAGRAM_BYTES_MAX: u16 = 65_507;
const _: () = assert!(DATAGRAM_BYTES_MAX as usize == crate::net::FRAME_BYTES_MAX);
pub(crate) const FRAME_BYTES: usize = 32;
const DOMAIN_AT: usize = 3;
/// Offsets of the kind and of the client's number, lowest byte first.
pub(crate) const KIND_AT: usize = 1;
pub(crate) const SNID_AT: usize = 16;
pub(crate) const CHECK: std::ops::Range<usize> = 4..8;
const SEALED: u8 = 1;

numbered! {
    pub(crate) enum FrameKind: u8 {
        /// A client asks to connect.
        Hello = 1,
        /// The server accepts it.
        Welcome = 2,
        /// The server does not answer, and why.
        Refusal = 3,
        Client = 4,
        Server = 5,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) domain: u8,
    /// The server's run; 0 in a hello.
    pub(crate) incarnation: u64,
    /// The client; 0 in its first hello.
    pub(crate) snid: NodeId,
    /// The longest datagram that the sender accepts.
    pub(crate) datagram_bytes: u16,
    /// From a client: its token, 0 while it has none. From the server: its time in nanoseconds.
    pub(crate) word: u64,
    pub(crate) cover: Cover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    TooShort,
    Version(u8),
    Kind,
    /// The check or the seal is wrong.
    Forged,
    /// Plain where sealed datagrams are expected, or the other way round.
    Sealing,
}

impl Frame {
    /// Writes the header into `datagram`, with a check of 0. A sealed one names its key.
    #[inline]
    pub(crate) fn encode(&self, datagram: &mut [u8], key_tag: Option<u16>) {
        let mut header = [0; FRAME_BYTES];
        header[0] = UDP_VERSION;
        header[KIND_AT] = self.kind as u8;
        header[2] = if key_tag.is_some() { SEALED } else { 0 };
        header[DOMAIN_AT] = self.domain;
        header[8..16].copy_from_slice(&self.incarnation.to_le_bytes());
        header[SNID_AT..SNID_AT + 4].copy_from_slice(&self.snid.0.to_le_bytes());
        header[20..22].copy_from_slice(&self.datagram_bytes.to_le_bytes());
        header[22..24].copy_from_slice(&key_tag.unwrap_or(0).to_le_bytes());
        header[24..32].copy_from_slice(&self.word.to_le_bytes());
        datagram[..FRAME_BYTES].copy_from_slice(&header);
    }

    /// Reads the header, and the key's tag if it is sealed. [`Seal::open`](super::seal::Seal::open)
    /// checks whether the sender wrote it.
    #[inline]
    pub(crate) fn decode(datagram: &[u8]) -> Result<(Self, Option<u16>), FrameError> {
        let header = datagram.first_chunk::<FRAME_BYTES>().ok_or(FrameError::TooShort)?;
        if header[0] != UDP_VERSION {
            return Err(FrameError::Version(header[0]));
        }
        let kind = FrameKind::from_number(header[KIND_AT]).ok_or(FrameError::Kind)?;
        let frame = Self {
            kind,
            domain: header[DOMAIN_AT],
            incarnation: long(header, 8),
            snid: NodeId(word(header, SNID_AT)),
            datagram_bytes: short(header, 20),
            word: long(header, 24),
            cover: Cover::default(),
        };
        Ok((frame, (header[2] & SEALED != 0).then(|| short(header, 22))))
    }
}

#[inline(always)]
pub(super) fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_way_there() {
        for kind in [FrameKind::Hello, FrameKind::Welcome, FrameKind::Refusal, FrameKind::Client, FrameKind::Server] {
            let (incarnation, snid, cover) = (u64::MAX - 3, NodeId(77), Cover::default());
            let frame = Frame { kind, domain: 9, incarnation, snid, datagram_bytes: 1232, word: 1 << 63, cover };
            for key_tag in [None, Some(0), Some(u16::MAX)] {
                let mut bytes = [9; 40];
                frame.encode(&mut bytes, key_tag);
                assert_eq!(Frame::decode(&bytes), Ok((frame, key_tag)));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        nebula_testing::seeded(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            let _ = Frame::decode(&bytes);
            Ok(())
        });
        assert_eq!(Frame::decode(&[2; 31]), Err(FrameError::TooShort));
        assert_eq!(Frame::decode(&[3; 32]), Err(FrameError::Version(3)));
        assert_eq!(Frame::decode(&[2, 6].repeat(16)), Err(FrameError::Kind));
    }
}
