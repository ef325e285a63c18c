//! Kernel UDP with few system calls and, above all, few socket buffers. Datagrams sent together
//! share a system call, and datagrams of equal length to one peer cross the kernel as one buffer
//! where it supports segmentation (GSO) and coalescing (GRO).
//!
//! The kernel's network stack costs microseconds of CPU time per buffer, and a buffer with 64 small
//! datagrams costs little more than a buffer with one. Instead of quinn-udp this is our own code,
//! because we need connected sends, `sendmmsg`, and offloads that can be switched off.
//!
//! Only [`wait`](UdpSocket::wait) blocks. Datagrams that the kernel does not accept at once are
//! dropped and [counted](UdpSocket::dropped), as UDP allows.
//!
//! | file | purpose |
//! |---|---|
//! | `udp/name` | socket addresses in the kernel's format |
//! | `udp/datagram` | the bounds of datagrams |
//! | `udp/control` | ancillary data of a datagram: segment length, local address |
//! | `udp/option` | socket options |
//! | `udp/program` | steps of the programs that the kernel runs for each datagram |
//! | `udp/group` | several sockets at one address |
//! | `udp/early_drop` | drops datagrams before they take room in the socket |
//! | `udp/outbox` | collects datagrams and sends them with `sendmmsg` |
//! | `udp/inbox` | receives with `recvmmsg` and splits coalesced datagrams |

mod control;
mod datagram;
mod early_drop;
mod group;
mod inbox;
mod name;
mod option;
mod outbox;
mod program;

pub use datagram::{DATAGRAM_BYTES_MAX, Received, SEGMENTS_MAX};
pub use early_drop::{DROP_RULES_MAX, DropRule};
pub use group::{GROUP_MAX, GroupKey};
use inbox::Inbox;
use outbox::Outbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The buffer size requested per direction: a thousand bursts of 64 datagrams of 64 bytes.
const BUFFER_BYTES: usize = 4 << 20;

/// The kernel's treatment of many datagrams of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Sends them as one buffer, which is split as late as possible.
    pub gso: bool,
    /// Delivers them as one buffer.
    pub gro: bool,
}

impl Offload {
    /// One buffer per datagram in both directions.
    pub const OFF: Self = Self { gso: false, gro: false };
}

/// The cause of a [`wait`](UdpSocket::wait)'s end; both are false after a timeout or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// A datagram has arrived, or an error that [`recv`](UdpSocket::recv) reports.
    pub datagram: bool,
    /// The `wake` descriptor is readable.
    pub wake: bool,
}

/// A non-blocking UDP socket with a queue of datagrams to send.
///
/// # Examples
///
/// ```
/// use nebula_sys::udp::UdpSocket;
/// let mut server = UdpSocket::bind("127.0.0.1:0".parse().unwrap())?;
/// let mut client = UdpSocket::connect(server.local())?;
/// client.queue(server.local(), None, b"onetwothree", 3)?;
/// client.flush()?;
/// let mut seen = Vec::new();
/// while seen.len() < 4 {
///     server.recv(&mut |_, datagram| seen.push(datagram.to_vec()))?;
/// }
/// assert_eq!(seen, [&b"one"[..], b"two", b"thr", b"ee"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    socket: std::net::UdpSocket,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    granted: Offload,
    offload: Offload,
    outbox: Outbox,
    inbox: Inbox,
}

impl UdpSocket {
    /// Binds a socket to `local`; it accepts datagrams from any address.
    ///
    /// # Errors
    ///
    /// The kernel's error: the address is in use, or does not belong to this machine.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Self::of(std::net::UdpSocket::bind(local)?, None)
    }

    /// Binds `sockets` sockets to `local`. `key` chooses the socket of each datagram, whatever its
    /// sender. Without a key, the kernel chooses by both addresses, so one sender uses one socket.
    /// With port 0 they share the port that the kernel chooses.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for 0 or more than [`GROUP_MAX`] sockets. The kernel's error: the address is
    /// in use, by a group too, or does not belong to this machine.
    pub fn bind_group(local: SocketAddr, sockets: u16, key: Option<GroupKey>) -> io::Result<Vec<Self>> {
        group::bind_all(local, sockets, key)?.into_iter().map(|socket| Self::of(socket, None)).collect()
    }

    /// A socket at an address chosen by the kernel that exchanges datagrams only with `server`.
    ///
    /// # Errors
    ///
    /// The kernel's error, such as no route to the server.
    pub fn connect(server: SocketAddr) -> io::Result<Self> {
        let anywhere: IpAddr =
            if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = std::net::UdpSocket::bind((anywhere, 0))?;
        socket.connect(server)?;
        Self::of(socket, Some(server))
    }

    fn of(socket: std::net::UdpSocket, peer: Option<SocketAddr>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let local = socket.local_addr()?;
        option::ask_for_buffers(&socket, BUFFER_BYTES);
        option::never_fragment(&socket, local);
        if local.ip().is_unspecified() {
            option::tell_local_address(&socket, local)?;
        }
        let granted = Offload { gso: option::has_gso(&socket), gro: option::set_gro(&socket, true).is_ok() };
        let inbox = Inbox::new(peer);
        Ok(Self { socket, local, peer, granted, offload: granted, outbox: Outbox::new(), inbox })
    }

    /// The address it is bound to.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The server it is connected to.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The offloads in use: those that the kernel supports and that are not [switched
    /// off](Self::set_offload). Segmentation is also off after a send has shown that the device
    /// cannot compute checksums for it.
    #[must_use]
    pub fn offload(&self) -> Offload {
        Offload { gso: self.offload.gso && !self.outbox.is_gso_refused(), ..self.offload }
    }

    /// Enables those offloads in `wanted` that the kernel supports; [`Offload::OFF`] selects one
    /// buffer per datagram.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn set_offload(&mut self, wanted: Offload) -> io::Result<()> {
        let Offload { gso, gro } = self.granted;
        if gro {
            option::set_gro(&self.socket, wanted.gro)?;
        }
        self.offload = Offload { gso: gso && wanted.gso, gro: gro && wanted.gro };
        Ok(())
    }

    /// Replaces the rules by which the kernel drops datagrams before they take room in the socket.
    /// The first rule that matches a datagram decides.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for more than [`DROP_RULES_MAX`] rules. Otherwise the kernel's error.
    ///
    /// # Cost
    ///
    /// A system call, in which the kernel compiles a program: some tens of microseconds. Dropped
    /// datagrams cost the receiver nothing.
    pub fn set_drop_rules(&mut self, rules: &[DropRule]) -> io::Result<()> {
        early_drop::set_rules(&self.socket, rules)
    }

    /// The largest packet, IP header included, that fits the route to the connected server, as far
    /// as the kernel knows.
    #[must_use]
    pub fn route_mtu(&self) -> Option<usize> {
        self.peer.and_then(|peer| option::route_mtu(&self.socket, peer))
    }

    /// Datagrams that the kernel did not accept or whose boundaries were lost so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.outbox.dropped() + self.inbox.dropped()
    }

    /// Copies `bytes`, split into datagrams of `segment` bytes (the last may be shorter), into the
    /// arena that [`flush`](Self::flush) sends. `from` is the local address to send from, for a
    /// socket that is bound to the unspecified address.
    ///
    /// Consecutive full-length datagrams to one peer share a buffer. A full arena is flushed.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `segment` is 0, when a datagram would exceed [`DATAGRAM_BYTES_MAX`], or
    /// when a connected socket is asked to send to another address. When the arena is full, the
    /// errors of [`flush`](Self::flush).
    ///
    /// # Cost
    ///
    /// One copy, no allocation; one system call per few hundred KiB.
    #[inline]
    pub fn queue(&mut self, to: SocketAddr, from: Option<IpAddr>, bytes: &[u8], segment: usize) -> io::Result<()> {
        if self.peer.is_some_and(|peer| peer != to) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a connected socket can only send to its peer"));
        }
        let to = if self.peer.is_some() { None } else { Some(to) };
        self.outbox.queue(&self.socket, self.offload.gso, outbox::Route { to, from }, bytes, segment)
    }

    /// Sends queued datagrams; counts those that the kernel does not accept at once.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` when the peer's machine has reported, for an earlier datagram, that no
    /// socket listens there; everything queued is sent nevertheless. Otherwise the kernel's error,
    /// when the socket itself is unusable.
    ///
    /// # Cost
    ///
    /// A plain `send` when one datagram is queued; otherwise one `sendmmsg` per 64 messages of up
    /// to 64 datagrams.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        self.outbox.flush(&self.socket, self.offload.gso)
    }

    /// Calls `visit` for each datagram that has arrived, in the kernel's order; counts them.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` when the peer's machine has reported that no socket listens there.
    /// Otherwise the kernel's error.
    ///
    /// # Cost
    ///
    /// One `recvmmsg` of up to 16 messages; only used buffers are prepared again.
    #[inline]
    pub fn recv(&mut self, visit: &mut dyn FnMut(Received, &mut [u8])) -> io::Result<usize> {
        self.inbox.recv(&self.socket, visit)
    }

    /// Sleeps until a datagram has arrived, `wake` is readable, or `timeout` has passed; without a
    /// timeout, indefinitely.
    ///
    /// # Errors
    ///
    /// The kernel's error; a signal is not an error.
    pub fn wait(&self, timeout: Option<Duration>, wake: Option<BorrowedFd<'_>>) -> io::Result<Woken> {
        wait_on(self.as_fd(), timeout, wake)
    }
}

/// As [`UdpSocket::wait`], for any descriptor that becomes readable.
///
/// # Errors
///
/// The kernel's error; a signal is not an error.
pub fn wait_on(own: BorrowedFd<'_>, timeout: Option<Duration>, wake: Option<BorrowedFd<'_>>) -> io::Result<Woken> {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let mut fds = [own, wake.unwrap_or(own)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let watched = if wake.is_some() { &mut fds[..] } else { &mut fds[..1] };
    match poll(watched, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [own, second] = fds;
    Ok(Woken { datagram: !own.revents().is_empty(), wake: wake.is_some() && !second.revents().is_empty() })
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
