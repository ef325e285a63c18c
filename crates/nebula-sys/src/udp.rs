//! Kernel UDP with few system calls and, above all, few socket buffers: what leaves together shares a call, and datagrams
//! of one length for one peer cross the kernel as one buffer where it can segment (GSO) and coalesce (GRO).
//!
//! The kernel's stack costs microseconds of a core a buffer, whatever the call; a call that carries 64 small datagrams as one
//! buffer costs little more than one that carries one. Own code instead of quinn-udp for connected sends, `sendmmsg`, and
//! offloads that can be switched off.
//!
//! Nothing here blocks but [`wait`](UdpSocket::wait), and nothing is retried without bound: UDP may lose, so what the kernel
//! does not take at once is dropped and [counted](UdpSocket::dropped).
//!
//! | file | what it does |
//! |---|---|
//! | `udp/name` | socket addresses as the kernel has them |
//! | `udp/control` | what travels beside a datagram: segment length, local address |
//! | `udp/option` | options of a socket |
//! | `udp/outbox` | collects, and sends with `sendmmsg` |
//! | `udp/inbox` | receives with `recvmmsg`, and splits |

mod control;
mod inbox;
mod name;
mod option;
mod outbox;

use inbox::Inbox;
use outbox::Outbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The longest datagram, in bytes: what IPv4's 16-bit length leaves behind 20 bytes of IP header and 8 of UDP.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Datagrams that one segmented send may carry: what every kernel with segmentation takes.
pub const SEGMENTS_MAX: usize = 64;
/// What is asked of the kernel for each direction's buffer: a thousand bursts of 64 datagrams of 64 bytes.
const BUFFER_BYTES: usize = 4 << 20;

/// What the kernel does to many datagrams of one length at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Sends them as one buffer, cut as late as possible.
    pub gso: bool,
    /// Delivers them as one buffer.
    pub gro: bool,
}

impl Offload {
    /// One buffer a datagram, everywhere.
    pub const OFF: Self = Self { gso: false, gro: false };
}

/// Where a datagram came from, and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its sender, as the IP and UDP headers claim.
    pub from: SocketAddr,
    /// Which local address it was sent to; known where the socket is bound to the unspecified one, so that the answer can
    /// [come from there](UdpSocket::queue).
    pub to: Option<IpAddr>,
}

/// What ended a [`wait`](UdpSocket::wait); neither, when the time was over or a signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// A datagram has come, or an error that [`recv`](UdpSocket::recv) reports.
    pub datagram: bool,
    /// The bell is readable.
    pub bell: bool,
}

/// A UDP socket that never blocks, with what is to be sent collected in it.
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
    /// A socket at `local`, open to everybody.
    ///
    /// # Errors
    ///
    /// The kernel's reason: the address is taken, or none of this machine's.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Self::of(std::net::UdpSocket::bind(local)?, None)
    }

    /// A socket at an address of the kernel's choice that exchanges datagrams with `server` alone: the kernel drops others.
    ///
    /// # Errors
    ///
    /// The kernel's reason, such as that there is no route.
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

    /// The offloads in use: what the kernel has, less what was [switched off](Self::set_offload), less segmentation where a
    /// send showed that the device has no checksums for it.
    #[must_use]
    pub fn offload(&self) -> Offload {
        Offload { gso: self.offload.gso && !self.outbox.is_gso_refused(), ..self.offload }
    }

    /// Uses what of `wanted` the kernel has; [`Offload::OFF`] gives the plain path, one buffer a datagram.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn set_offload(&mut self, wanted: Offload) -> io::Result<()> {
        let Offload { gso, gro } = self.granted;
        if gro {
            option::set_gro(&self.socket, wanted.gro)?;
        }
        self.offload = Offload { gso: gso && wanted.gso, gro: gro && wanted.gro };
        Ok(())
    }

    /// The largest packet, IP header included, that the route to the connected server takes, as far as the kernel knows.
    #[must_use]
    pub fn route_mtu(&self) -> Option<usize> {
        self.peer.and_then(|peer| option::route_mtu(&self.socket, peer))
    }

    /// Datagrams that the kernel did not take, or that could not be told apart, since the socket was made.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.outbox.dropped() + self.inbox.dropped()
    }

    /// Copies `bytes`, cut into datagrams of `segment` bytes (the last may be shorter), to where they wait for
    /// [`flush`](Self::flush). `from` is the local address to send from, where the socket has no specific one.
    ///
    /// What follows on a datagram of full length for the same peer shares its buffer. A full arena is flushed.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `segment` is 0 or a datagram would exceed [`DATAGRAM_BYTES_MAX`], or when a connected socket is to
    /// send to somebody else. As [`flush`](Self::flush), when the arena is full.
    ///
    /// # Cost
    ///
    /// One copy, no allocation; a system call a few hundred KiB.
    #[inline]
    pub fn queue(&mut self, to: SocketAddr, from: Option<IpAddr>, bytes: &[u8], segment: usize) -> io::Result<()> {
        if self.peer.is_some_and(|peer| peer != to) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a connected socket sends to its peer alone"));
        }
        // The kernel knows a connected socket's peer: no address a datagram.
        let to = if self.peer.is_some() { None } else { Some(to) };
        self.outbox.queue(&self.socket, self.offload.gso, outbox::Route { to, from }, bytes, segment)
    }

    /// Hands what is queued to the kernel; what it does not take at once is dropped and counted.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` when the peer's machine has said, about something sent before, that nobody listens: all that was queued is sent nevertheless.
    /// Otherwise the kernel's reason, when the socket itself is of no use.
    ///
    /// # Cost
    ///
    /// A plain `send` where one datagram is queued; else one `sendmmsg` for up to 64 messages of up to 64 datagrams.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        self.outbox.flush(&self.socket, self.offload.gso)
    }

    /// Visits datagrams that have come, in the order that the kernel has them; how many. Zero when there are none.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` when the peer's machine has said that nobody listens. Otherwise the kernel's reason.
    ///
    /// # Cost
    ///
    /// One `recvmmsg` of up to 16 messages; nothing is prepared anew that was not used.
    #[inline]
    pub fn recv(&mut self, visit: &mut dyn FnMut(Received, &mut [u8])) -> io::Result<usize> {
        self.inbox.recv(&self.socket, visit)
    }

    /// Sleeps until a datagram has come, `bell` is readable, or `timeout` is over; without one, for as long as it takes.
    ///
    /// # Errors
    ///
    /// The kernel's reason; a signal is none.
    pub fn wait(&self, timeout: Option<Duration>, bell: Option<BorrowedFd<'_>>) -> io::Result<Woken> {
        // Longer than the kernel can count is for ever.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let socket = PollFd::new(&self.socket, PollFlags::IN);
        let second = bell.unwrap_or(self.socket.as_fd());
        let mut fds = [socket, PollFd::from_borrowed_fd(second, PollFlags::IN)];
        let watched = if bell.is_some() { &mut fds[..] } else { &mut fds[..1] };
        match poll(watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [socket, second] = fds;
        Ok(Woken { datagram: !socket.revents().is_empty(), bell: bell.is_some() && !second.revents().is_empty() })
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
