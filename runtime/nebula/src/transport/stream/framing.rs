//! The border to a protocol of others: where its requests end, and what it calls a refusal.

use crate::rpc::fault::Fault;
use nebula_nic::NackReason;
use std::fmt::Debug;

/// What the bytes that have come from a client begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// A part of a request. Nothing more is known before there are so many bytes in all, or one
    /// more where that is less.
    Incomplete {
        /// Bytes from the beginning of the request that are needed.
        bytes_min: usize,
    },
    /// A request of so many bytes, which the service gets as they are. What it says is followed by
    /// `discard` bytes that are not looked at, such as a value that is too long.
    Request {
        /// Bytes of the RPC.
        bytes: usize,
        /// The hash of the key that it is about, for policies that ask for it.
        key_hash: u32,
        /// Bytes behind it to be skipped; more than have come, perhaps.
        discard: usize,
    },
    /// The client wants to end: its answers go out, and the connection is closed.
    End,
    /// What comes makes no sense, and where it would again is not known: this answer goes out, and
    /// the connection is closed.
    Broken(&'static [u8]),
}

/// A protocol that others have made, as far as a transport has to know it.
///
/// # Examples
///
/// Requests are lines, and each is answered with one:
///
/// ```
/// use nebula::{Endpoint, Fault, Frame, Framing, NackReason, Reply, Server};
/// use std::io::{BufRead, BufReader, Write};
///
/// #[derive(Debug)]
/// struct Lines;
///
/// impl Framing for Lines {
///     fn next(&self, bytes: &[u8]) -> Frame {
///         match bytes.iter().position(|&byte| byte == b'\n') {
///             Some(at) => Frame::Request { bytes: at + 1, key_hash: 0, discard: 0 },
///             None => Frame::Incomplete { bytes_min: 0 },
///         }
///     }
///     fn refused(&self, _: &[u8], _: NackReason) -> &'static [u8] {
///         b"busy\n"
///     }
///     fn failed(&self, _: Fault) -> &'static [u8] {
///         b"failed\n"
///     }
///     fn crowded(&self) -> &'static [u8] {
///         b"too many connections\n"
///     }
/// }
///
/// let server = Server::bind(Endpoint::Tcp("127.0.0.1:0".parse()?)).framing(Lines);
/// let server = server.serve(|line: &[u8], reply: &mut Reply| reply.write(line))?;
/// let &Endpoint::Tcp(address) = server.endpoint() else { unreachable!() };
/// let mut client = std::net::TcpStream::connect(address)?;
/// client.write_all(b"hello\n")?;
/// let mut answer = String::new();
/// BufReader::new(client).read_line(&mut answer)?;
/// assert_eq!(answer, "hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Framing: Debug + Send + Sync + 'static {
    /// What `bytes` begin with. They are not empty, and all that has come and was not taken.
    fn next(&self, bytes: &[u8]) -> Frame;

    /// What a client is told whose `request` was refused: it was not executed.
    fn refused(&self, request: &[u8], reason: NackReason) -> &'static [u8];

    /// What a client is told whose request has no reply.
    fn failed(&self, fault: Fault) -> &'static [u8];

    /// What a client is told for whom there is no place.
    fn crowded(&self) -> &'static [u8];

    /// Over datagrams: bytes at the beginning of each datagram that are no request.
    fn datagram_header_bytes(&self) -> usize {
        0
    }

    /// Over datagrams: the header of answer `index` of `count` to the datagram that began with
    /// `asked`, to be written to `header`, which is as long. `None` where that datagram is not
    /// answered.
    fn answer_header(&self, asked: &[u8], index: u16, count: u16, header: &mut [u8]) -> Option<()> {
        let _ = (asked, index, count, header);
        None
    }
}
