//! Where requests of memcached's clients end, in a stream or in datagrams, and the texts of
//! refusals.

use super::bounds::REQUEST_BYTES_MAX;
use nebula::{Fault, Frame, Framing, NackReason};
use nebula_memcached::datagram::{HEADER_BYTES, Header};
use nebula_memcached::frame::{Framed, next};
use nebula_memcached::{answer, request::Request};

/// memcached's protocol for the transport.
#[derive(Debug)]
pub(in crate::kv) struct Memcached;

impl Framing for Memcached {
    #[inline]
    fn next(&self, bytes: &[u8]) -> Frame {
        match next(bytes, REQUEST_BYTES_MAX as usize) {
            Framed::Incomplete { bytes_min } => Frame::Incomplete { bytes_min },
            Framed::Request { bytes, discard } => Frame::Request { bytes, key_hash: 0, discard },
            Framed::Quit => Frame::End,
            Framed::Broken(answer) => Frame::Broken(answer),
        }
    }

    /// Empty if the client wants no answer.
    fn refused(&self, request: &[u8], _: NackReason) -> &'static [u8] {
        // A get, the most frequent request, is always answered.
        if request.starts_with(b"get") {
            return answer::BUSY;
        }
        let is_silent = match Request::parse(request) {
            Request::Store(store) => store.noreply,
            Request::Delete { noreply, .. }
            | Request::Number { noreply, .. }
            | Request::Touch { noreply, .. }
            | Request::FlushAll { noreply, .. }
            | Request::Verbosity { noreply }
            | Request::Refused { noreply, .. } => noreply,
            _ => false,
        };
        if is_silent { b"" } else { answer::BUSY }
    }

    fn failed(&self, fault: Fault) -> &'static [u8] {
        match fault {
            Fault::ReplyTooLarge => answer::NO_MEMORY_TO_ANSWER,
            _ => answer::FAILED,
        }
    }

    fn crowded(&self) -> &'static [u8] {
        answer::CROWDED
    }

    fn datagram_header_bytes(&self) -> usize {
        HEADER_BYTES
    }

    /// A value that goes on in another datagram would be read as commands there.
    fn takes_datagram(&self, header: &[u8]) -> bool {
        Header::read(header).is_some_and(|header| header.pieces == 1)
    }

    fn answer_header(&self, asked: &[u8], index: u16, count: u16, header: &mut [u8]) -> Option<()> {
        let Header { request, .. } = Header::read(asked)?;
        header.copy_from_slice(&Header { request, piece: index, pieces: count }.bytes());
        Some(())
    }
}
