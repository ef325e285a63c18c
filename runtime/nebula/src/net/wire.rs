//! A network that carries datagrams, and the routes on it.

use nebula_nic::Timestamp;
use nebula_sys::udp::DropRule;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

/// The route to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The local address that the peer sends to, if there are several: answers come from it.
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

    /// The longest datagram that may be sent, in bytes.
    fn datagram_bytes_max(&self) -> usize;

    /// Queues `bytes` for `to` in datagrams of `segment` bytes; the last may be shorter.
    ///
    /// # Errors
    ///
    /// When later datagrams would fail too. Otherwise a datagram that fails may be dropped.
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()>;

    /// Sends the queued datagrams.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); `ConnectionRefused` if no process listens at the peer for now.
    fn flush(&mut self) -> io::Result<()>;

    /// Visits datagrams that have arrived, at most some dozens. Returns their number.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush). An empty queue is no error.
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize>;

    /// Replaces the rules by which datagrams are dropped before they wait to be received. A wire
    /// without support does nothing: then it receives more than the server can serve.
    ///
    /// # Errors
    ///
    /// When the system call fails; the old rules stay then.
    fn set_drop_rules(&mut self, rules: &[DropRule]) -> io::Result<()> {
        let _ = rules;
        Ok(())
    }

    /// Sleeps until a datagram arrives, the eventfd `parker` is readable, or `timeout` has passed.
    ///
    /// # Errors
    ///
    /// When the system call fails.
    fn wait(&mut self, timeout: Option<std::time::Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()>;

    /// Whether nothing is lost or overtaken between two connected peers. Their connection may
    /// break, and a peer that does not read may lose datagrams.
    fn is_lossless(&self) -> bool {
        false
    }

    /// A turn of the server begins. Returns whether [`prove`](Self::prove) says anything new of a
    /// peer. A wire of connections closes those that have not proved themselves in time.
    fn begin_turn(&mut self, now: Timestamp) -> bool {
        let _ = now;
        false
    }

    /// Reports that `peer` is an accepted client. A wire of connections keeps a place for it.
    fn prove(&mut self, peer: Route) {
        let _ = peer;
    }

    /// Stops accepting peers, where peers connect. Connected peers stay.
    fn let_nobody_in(&mut self) {}

    /// Reports that `peer` sent invalid data. A wire of connections closes this one.
    fn hang_up(&mut self, peer: Route) {
        let _ = peer;
    }

    /// Connections closed so far because of invalid frames.
    fn violations(&self) -> u64 {
        0
    }

    /// A descriptor that is readable while datagrams wait, if there is one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
