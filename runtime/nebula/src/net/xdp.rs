//! Frames of a network interface, bypassing the kernel's network stack, as a [`Wire`].
//!
//! The kernel runs a program of about thirty instructions for each frame of the interface, which
//! passes those of one UDP port to this process. Receiving takes no system call; one call sends all
//! queued frames. A peer's first frame gives its Ethernet address; if a later one differs, the
//! kernel's table decides.

mod headers;
mod hops;
mod neighbors;
mod router;
mod tables;
mod taking;

use super::kernel::{KernelWire, SAFE_DATAGRAM_BYTES};
use super::wire::{Route, Wire};
use headers::{ETHERNET_BYTES, Ends, HEADER_BYTES};
use nebula_sys::udp::wait_on;
use nebula_sys::xdp::{Frames, Interface, Picked};
use neighbors::Neighbors;
pub use router::XdpRouter;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use taking::take;

/// The sender, the destination and the bytes of the UDP datagram in an Ethernet frame, as
/// [`XdpWire`] reads it. `None` unless the frame has a complete datagram over IPv4 with a right
/// checksum.
pub fn datagram_in(frame: &mut [u8]) -> Option<(SocketAddrV4, SocketAddrV4, &mut [u8])> {
    headers::read(frame).map(|(ends, datagram)| (ends.from, ends.to, datagram))
}

/// UDP over a network interface by AF_XDP. Its datagrams are those of
/// [`KernelWire`](super::KernelWire), so a peer may use either.
///
/// IPv4 without fragments only. It needs root, or the capabilities `CAP_NET_ADMIN`, `CAP_NET_RAW`
/// and `CAP_BPF`; an interface has one such wire at a time.
#[derive(Debug)]
pub struct XdpWire {
    frames: Frames,
    interface: Interface,
    local: SocketAddrV4,
    /// The only peer of a client: its server.
    peer: Option<SocketAddrV4>,
    datagram_bytes_max: usize,
    neighbors: Neighbors,
    ready: OwnedFd,
    /// Reserves the port at the kernel, and receives what came in frames that were too long.
    port: KernelWire,
    too_long: u64,
    /// How many more calls also read the port.
    looks: u32,
}

/// How often the port is read after a frame that was too long: longer than the kernel may need.
const LOOKS: u32 = 1024;

impl XdpWire {
    /// The wire of a server at `port` of the first IPv4 address of `interface`; port 0: any.
    ///
    /// # Errors
    ///
    /// `NotFound` without such an interface, `AddrInUse` if the port is taken, `PermissionDenied`
    /// without the right to take frames, `ResourceBusy` if another program is attached to the
    /// interface.
    pub fn bind(interface: &str, port: u16) -> io::Result<Self> {
        Self::open(interface, port, None, usize::MAX)
    }

    /// The wire of a client on `interface` to `server`, whose datagrams have at most
    /// `datagram_bytes` in both directions; `usize::MAX`: as many as the interface carries.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind); `NetworkUnreachable` without a route to the server on this
    /// interface, `HostUnreachable` if no host answers there.
    pub fn connect(interface: &str, server: SocketAddrV4, datagram_bytes: usize) -> io::Result<Self> {
        Self::open(interface, 0, Some(server), datagram_bytes)
    }

    fn open(name: &str, port: u16, peer: Option<SocketAddrV4>, datagram_bytes: usize) -> io::Result<Self> {
        let interface = Interface::named(name)?;
        let carried = interface.mtu_bytes.saturating_sub(HEADER_BYTES - ETHERNET_BYTES);
        let datagram_bytes_max = SAFE_DATAGRAM_BYTES.min(carried).min(datagram_bytes);
        // Coalescing would join short datagrams into long ones.
        let port = KernelWire::bind(SocketAddrV4::new(interface.ip, port).into())?.offload(false)?;
        let local = SocketAddrV4::new(interface.ip, port.local().port());
        let mut neighbors = Neighbors::of(name);
        peer.map(|peer| neighbors.resolve(interface.ip, *peer.ip())).transpose()?;
        let mut frames = take(&interface, Picked::Datagrams { to: local, bytes_max: datagram_bytes_max })?;
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, queue) in (0..).zip(frames.queues()) {
            epoll::add(&ready, &*queue, EventData::new_u64(number), EventFlags::IN)?;
        }
        if let Some(port) = port.descriptor() {
            epoll::add(&ready, port, EventData::new_u64(u64::MAX), EventFlags::IN)?;
        }
        Ok(Self { frames, interface, local, peer, datagram_bytes_max, neighbors, ready, port, too_long: 0, looks: 0 })
    }

    /// Datagrams that could not be sent, and frames dropped for lack of room.
    #[must_use]
    pub fn dropped(&mut self) -> u64 {
        self.frames.queues().iter().map(|queue| queue.dropped()).sum()
    }
}

/// The wire of a server, and whether it bypasses the kernel's stack. It falls back to the kernel's
/// sockets if this process may not take the interface's frames.
pub(crate) fn bind(interface: &str, port: u16) -> io::Result<(Box<dyn Wire>, bool)> {
    match XdpWire::bind(interface, port) {
        Ok(wire) => Ok((Box::new(wire), true)),
        Err(error) => {
            let ip = fallen_back(interface, error)?.ip;
            Ok((Box::new(KernelWire::bind(SocketAddrV4::new(ip, port).into())?), false))
        }
    }
}

/// The wire of a client, with the same fallback.
pub(crate) fn connect(
    interface: &str,
    server: SocketAddrV4,
    datagram_bytes: Option<usize>,
) -> io::Result<Box<dyn Wire>> {
    match XdpWire::connect(interface, server, datagram_bytes.unwrap_or(usize::MAX)) {
        Ok(wire) => Ok(Box::new(wire)),
        Err(error) => {
            fallen_back(interface, error)?;
            let wire = KernelWire::connect(server.into())?;
            Ok(Box::new(datagram_bytes.into_iter().fold(wire, KernelWire::datagram_bytes)))
        }
    }
}

/// Warns that the kernel's sockets are used, unless they would fail too.
fn fallen_back(interface: &str, error: io::Error) -> io::Result<Interface> {
    use io::ErrorKind::{PermissionDenied, ResourceBusy, Unsupported};
    let advice = match error.kind() {
        PermissionDenied => "run as root, or with CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF",
        ResourceBusy => "another program takes its frames, of which there can be one",
        Unsupported => "this kernel is built without AF_XDP",
        _ => return Err(error),
    };
    tracing::warn!(interface, %error, advice, "no frames past the kernel's network stack: its sockets are used instead");
    Interface::named(interface)
}

impl XdpWire {
    /// Visits datagrams that came in frames that were too long, from the kernel.
    #[cold]
    fn recv_too_long(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let peer = self.peer.map(SocketAddr::from);
        self.port.recv(&mut |route, datagram| {
            if peer.is_none_or(|peer| peer == route.peer) {
                visit(route, datagram);
            }
        })
    }
}

impl Wire for XdpWire {
    fn local(&self) -> SocketAddr {
        self.local.into()
    }

    fn datagram_bytes_max(&self) -> usize {
        self.datagram_bytes_max
    }

    /// Drops datagrams to a peer whose Ethernet address is unknown: it has never sent a frame.
    #[inline]
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        let SocketAddr::V4(peer) = to.peer else { return Err(only_ipv4()) };
        let Some(to_mac) = self.neighbors.mac(*peer.ip()) else { return Ok(()) };
        let ends = Ends { from_mac: self.interface.mac, to_mac, from: self.local, to: peer };
        let queue = &mut self.frames.queues()[0];
        for datagram in bytes.chunks(segment) {
            queue.queue(HEADER_BYTES + datagram.len(), |frame| {
                frame[HEADER_BYTES..].copy_from_slice(datagram);
                headers::write(frame, &ends);
            });
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.frames.queues()[0].flush();
        Ok(())
    }

    #[inline]
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let (neighbors, peer, local) = (&mut self.neighbors, self.peer, self.local);
        let mut datagrams = 0;
        for queue in self.frames.queues() {
            queue.recv(&mut |frame| {
                let Some((ends, datagram)) = headers::read(frame) else { return };
                if ends.to != local || peer.is_some_and(|peer| peer != ends.from) {
                    return;
                }
                neighbors.seen(*ends.from.ip(), ends.from_mac);
                datagrams += 1;
                visit(Route::from(SocketAddr::from(ends.from)), datagram);
            });
        }
        let too_long = self.frames.too_long();
        if too_long != self.too_long {
            (self.too_long, self.looks) = (too_long, LOOKS);
        }
        if self.looks > 0 {
            self.looks -= 1;
            datagrams += self.recv_too_long(visit)?;
        }
        Ok(datagrams)
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        wait_on(self.ready.as_fd(), timeout, parker)?;
        self.looks = self.looks.max(1);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ready.as_fd())
    }
}

fn only_ipv4() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "frames are sent over IPv4 alone")
}
