//! The border to another protocol: where its requests end, and its words for a refusal.

use crate::rpc::fault::Fault;
use nebula_nic::NackReason;
use std::fmt::Debug;

/// The first frame of a client's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// A part of a request. The protocol needs `bytes_min` bytes in all, or one more byte if that
    /// is more, to say more.
    Incomplete {
        /// Bytes needed from the beginning of the request.
        bytes_min: usize,
    },
    /// A request, which the service gets unchanged, and bytes behind it to skip, such as a value
    /// that is too long.
    Request {
        /// Bytes of the RPC.
        bytes: usize,
        /// The hash of its key, for policies that use it.
        key_hash: u32,
        /// Bytes behind it to skip; they need not have come yet.
        discard: usize,
    },
    /// The client closes: its answers are sent, then the connection is closed.
    End,
    /// Invalid bytes, after which the next request cannot be found: this answer is sent, and the
    /// connection is closed.
    Broken(&'static [u8]),
}

/// Another protocol, as far as a transport has to know it.
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
    /// Parses the beginning of `bytes`: all bytes that have come and were not taken, at least one.
    fn next(&self, bytes: &[u8]) -> Frame;

    /// The answer to a refused `request`, which was not executed.
    fn refused(&self, request: &[u8], reason: NackReason) -> &'static [u8];

    /// The answer to a request that has no reply.
    fn failed(&self, fault: Fault) -> &'static [u8];

    /// The answer to a client that there is no place for.
    fn crowded(&self) -> &'static [u8];

    /// Over datagrams: bytes at the beginning of each datagram before the request.
    fn datagram_header_bytes(&self) -> usize {
        0
    }

    /// Over datagrams: whether the datagram that begins with `header` holds whole requests. Others
    /// are dropped.
    fn takes_datagram(&self, header: &[u8]) -> bool {
        let _ = header;
        true
    }

    /// Over datagrams: writes the header of answer `index` of `count` to the datagram that began
    /// with `asked`, into `header`, which is as long. `None` if that datagram gets no answer.
    fn answer_header(&self, asked: &[u8], index: u16, count: u16, header: &mut [u8]) -> Option<()> {
        let _ = (asked, index, count, header);
        None
    }
}
