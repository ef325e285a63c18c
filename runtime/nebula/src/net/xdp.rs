//! Frames of a network interface, past the kernel's network stack, as a [`Wire`].
//!
//! The kernel runs a program of some thirty steps for each frame of the interface and gives those
//! of one UDP port to this process. Receiving takes no system call; one call sends all queued
//! frames. A peer's first frame says its Ethernet address, and the kernel decides where a later one
//! differs.

mod headers;
mod hops;
mod neighbors;
mod router;
mod tables;
mod taking;

use super::kernel::{KernelWire, SAFE_DATAGRAM_BYTES};
use super::wire::{Route, Wire};
use headers::{ETHERNET_BYTES, Ends, HEADER_BYTES};
use nebula_sys::xdp::{Frames, Interface, Picked};
use neighbors::Neighbors;
pub use router::XdpRouter;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use taking::take;

/// From where and to where the UDP datagram in an Ethernet frame goes, and its bytes; nothing of
/// what is no whole datagram over IPv4, or one with a wrong checksum. What [`XdpWire`] makes of a
/// frame.
pub fn datagram_in(frame: &mut [u8]) -> Option<(SocketAddrV4, SocketAddrV4, &mut [u8])> {
    headers::read(frame).map(|(ends, datagram)| (ends.from, ends.to, datagram))
}

/// UDP over a network interface by AF_XDP: the datagrams are those of
/// [`KernelWire`](super::KernelWire), and a peer need not know.
///
/// For IPv4, without fragments. It needs root, or the capabilities `CAP_NET_ADMIN`, `CAP_NET_RAW`
/// and `CAP_BPF`; an interface has one such wire at a time.
#[derive(Debug)]
pub struct XdpWire {
    frames: Frames,
    interface: Interface,
    local: SocketAddrV4,
    /// A client's server: nobody else is listened to.
    peer: Option<SocketAddrV4>,
    neighbors: Neighbors,
    /// Readable while frames wait in any of the queues.
    ready: OwnedFd,
    /// Holds the port, so that the kernel gives it to nobody else; and receives what is too long to
    /// be taken as a frame.
    port: KernelWire,
    too_long: u64,
    /// How often the port is still looked at.
    looks: u32,
}

/// How often the port is looked at after a frame that was too long: many more times than pass until
/// the kernel has handed it over.
const LOOKS: u32 = 1024;

impl XdpWire {
    /// The wire of a server at `port` of the first IPv4 address of `interface`; port 0 is a free
    /// one.
    ///
    /// # Errors
    ///
    /// `NotFound` without such an interface, `AddrInUse` where the port is taken,
    /// `PermissionDenied` without the right to take frames, `ResourceBusy` where another program is
    /// attached to the interface.
    pub fn bind(interface: &str, port: u16) -> io::Result<Self> {
        Self::open(interface, port, None)
    }

    /// The wire of a client on `interface` to `server`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind); `NetworkUnreachable` without a route to the server on this
    /// interface, `HostUnreachable` where nobody answers there.
    pub fn connect(interface: &str, server: SocketAddrV4) -> io::Result<Self> {
        Self::open(interface, 0, Some(server))
    }

    fn open(name: &str, port: u16, peer: Option<SocketAddrV4>) -> io::Result<Self> {
        let interface = Interface::named(name)?;
        // Without coalescing, which would make long frames of short ones.
        let port = KernelWire::bind(SocketAddrV4::new(interface.ip, port).into())?.offload(false)?;
        let local = SocketAddrV4::new(interface.ip, port.local().port());
        let mut neighbors = Neighbors::of(name);
        peer.map(|peer| neighbors.resolve(interface.ip, *peer.ip())).transpose()?;
        let mut frames = take(&interface, Picked::Datagrams { to: local })?;
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, queue) in (0..).zip(frames.queues()) {
            epoll::add(&ready, &*queue, EventData::new_u64(number), EventFlags::IN)?;
        }
        if let Some(port) = port.descriptor() {
            epoll::add(&ready, port, EventData::new_u64(u64::MAX), EventFlags::IN)?;
        }
        Ok(Self { frames, interface, local, peer, neighbors, ready, port, too_long: 0, looks: 0 })
    }

    /// Datagrams that could not be sent, and frames that came while there was no room for them.
    #[must_use]
    pub fn dropped(&mut self) -> u64 {
        self.frames.queues().iter().map(|queue| queue.dropped()).sum()
    }
}

/// The wire of a server; the kernel's where this process may not have the interface's frames.
/// Whether it is past the kernel's stack.
pub(crate) fn bind(interface: &str, port: u16) -> io::Result<(Box<dyn Wire>, bool)> {
    match XdpWire::bind(interface, port) {
        Ok(wire) => Ok((Box::new(wire), true)),
        Err(error) => {
            let ip = fallen_back(interface, error)?.ip;
            Ok((Box::new(KernelWire::bind(SocketAddrV4::new(ip, port).into())?), false))
        }
    }
}

/// The wire of a client; the kernel's where this process may not have the interface's frames.
pub(crate) fn connect(interface: &str, server: SocketAddrV4) -> io::Result<Box<dyn Wire>> {
    match XdpWire::connect(interface, server) {
        Ok(wire) => Ok(Box::new(wire)),
        Err(error) => {
            fallen_back(interface, error)?;
            Ok(Box::new(KernelWire::connect(server.into())?))
        }
    }
}

/// Says why the kernel's sockets are used, if they would do.
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
    /// Visits datagrams that the kernel has cut out of frames that were too long.
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
        SAFE_DATAGRAM_BYTES.min(self.interface.mtu_bytes.saturating_sub(HEADER_BYTES - ETHERNET_BYTES))
    }

    /// A datagram to a peer whose Ethernet address is not known is dropped: it has never sent one.
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
        // A timeout too long for the kernel means no timeout.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let second = parker.unwrap_or(self.ready.as_fd());
        let mut watched = [PollFd::new(&self.ready, PollFlags::IN), PollFd::from_borrowed_fd(second, PollFlags::IN)];
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {
                // Whatever woke it, the port among it.
                self.looks = self.looks.max(1);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ready.as_fd())
    }
}

fn only_ipv4() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "frames are sent over IPv4 alone")
}
