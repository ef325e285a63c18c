//! A network that carries datagrams, and the routes on it.

use nebula_sys::udp::DropRule;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

/// The route to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The local address that the peer sends to, where the wire has several. Answers must come from
    /// it.
    pub local: Option<IpAddr>,
}

impl From<SocketAddr> for Route {
    fn from(peer: SocketAddr) -> Self {
        Self { peer, local: None }
    }
}

/// A network that carries datagrams. It may lose, duplicate, delay or change them.
///
/// Only [`wait`](Self::wait) blocks.
pub trait Wire: Send + std::fmt::Debug {
    /// The local address.
    fn local(&self) -> SocketAddr;

    /// Bytes of the longest datagram that may be sent.
    fn datagram_bytes_max(&self) -> usize;

    /// Queues `bytes` for `to`, cut into datagrams of `segment` bytes each; the last may be
    /// shorter.
    ///
    /// # Errors
    ///
    /// When later datagrams cannot be sent either. A datagram that cannot be sent now may be
    /// dropped instead.
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()>;

    /// Sends what is queued.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); `ConnectionRefused` where no process listens at the peer, which may
    /// change.
    fn flush(&mut self) -> io::Result<()>;

    /// Visits datagrams that have arrived, at most some dozens, each with its route. Returns how
    /// many.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush). It is no error that nothing has arrived.
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize>;

    /// Drops datagrams by `rules`, and by no others, before they wait to be received; without rules
    /// none. A wire that cannot do that does nothing: then more is received than can be served.
    ///
    /// # Errors
    ///
    /// When the system call fails; the rules are as before then.
    fn set_drop_rules(&mut self, rules: &[DropRule]) -> io::Result<()> {
        let _ = rules;
        Ok(())
    }

    /// Sleeps until a datagram has arrived, the eventfd `parker` is readable, or `timeout` is over.
    ///
    /// # Errors
    ///
    /// When the system call fails.
    fn wait(&mut self, timeout: Option<std::time::Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()>;

    /// Whether nothing is lost or overtaken between two peers while they are connected. Their
    /// connection may break, and who does not read may lose what is sent to it.
    fn is_lossless(&self) -> bool {
        false
    }

    /// No further peer is let in, where peers connect. Those that have stay.
    fn let_nobody_in(&mut self) {}

    /// What came from `peer` makes no sense. A wire of connections ends this one.
    fn hang_up(&mut self, peer: Route) {
        let _ = peer;
    }

    /// Connections that were ended because what came was no datagram, so far.
    fn violations(&self) -> u64 {
        0
    }

    /// A descriptor that is readable while datagrams wait, where there is one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
