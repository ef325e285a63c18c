//! A client's end: one connection, made at the first datagram and again after it has broken.

use super::frames::{DATAGRAM_BYTES, FRAME_BYTES_MAX};
use super::link::{End, Link, READ_BYTES};
use crate::net::wire::{Route, Wire};
use nebula_sys::udp::wait_on;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The most bytes that wait for the server: more than a client's window ever has in flight.
const UNSENT_MAX: usize = 8 << 20;
const FRAMES_PER_LOOK: usize = 64;

/// Datagrams in frames over one TCP connection to a server.
///
/// The first datagram opens the connection. If it breaks, datagrams in flight are lost, and the
/// next datagram opens another one.
#[derive(Debug)]
pub struct TcpClientWire {
    server: SocketAddr,
    /// The connection, accepted by the server or not yet.
    link: Option<Link>,
    /// Holds the current connection, so that one descriptor stands for all of them.
    epoll: OwnedFd,
    /// Whether the set also reports room to send.
    tells_room: bool,
    datagram_bytes_max: usize,
    /// Why no connection could be opened; the next flush returns it.
    refusal: Option<io::Error>,
    scratch: Box<[u8; READ_BYTES]>,
}

impl TcpClientWire {
    /// Datagrams to and from `server`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When the kernel has no descriptor left.
    pub fn new(server: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            server,
            link: None,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            tells_room: false,
            datagram_bytes_max: DATAGRAM_BYTES,
            refusal: None,
            scratch: Box::new([0; READ_BYTES]),
        })
    }

    /// Sets the longest datagram, in bytes; 16 KiB unless set, and 65,507 at most.
    #[must_use]
    pub fn datagram_bytes(mut self, bytes: usize) -> Self {
        self.datagram_bytes_max = bytes.min(FRAME_BYTES_MAX);
        self
    }

    fn link(&mut self) -> io::Result<&mut Link> {
        if self.link.is_none() {
            let stream = begin(self.server)?;
            epoll::add(&self.epoll, &stream, EventData::new_u64(0), EventFlags::IN | EventFlags::OUT)?;
            self.tells_room = true;
            self.link = Some(Link::new(stream, UNSENT_MAX));
        }
        self.link.as_mut().ok_or_else(|| ErrorKind::NotConnected.into())
    }

    /// Has the descriptor report room to send, while bytes wait for it.
    fn watch(&mut self) -> io::Result<()> {
        let Some(link) = &self.link else { return Ok(()) };
        let waits = link.unsent() > 0;
        if waits != self.tells_room {
            let events = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, &link.stream, EventData::new_u64(0), events)?;
            self.tells_room = waits;
        }
        Ok(())
    }

    /// Closes the connection, which takes it out of the set.
    #[cold]
    fn end(&mut self, end: End) -> io::Error {
        self.link = None;
        match end {
            End::Bad => ErrorKind::InvalidData.into(),
            End::Failed(ErrorKind::ConnectionRefused) => ErrorKind::ConnectionRefused.into(),
            End::Closed | End::Cut | End::Failed(_) => ErrorKind::ConnectionReset.into(),
        }
    }
}

fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    match connect(&socket, &server) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Wire for TcpClientWire {
    fn local(&self) -> SocketAddr {
        let local = self.link.as_ref().and_then(|link| link.stream.local_addr().ok());
        local.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into())
    }

    fn datagram_bytes_max(&self) -> usize {
        self.datagram_bytes_max
    }

    fn is_lossless(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, _: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        match self.link() {
            Ok(link) => link.queue(bytes, segment),
            // On the same machine the kernel may refuse at once.
            Err(error) => self.refusal = Some(error),
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        let Some(link) = &mut self.link else { return Ok(()) };
        link.send().map_err(|end| self.end(end))?;
        self.watch()
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let route = self.server.into();
        let Some(link) = &mut self.link else { return Ok(0) };
        link.may_read = true;
        let received = link.receive(&mut self.scratch, FRAMES_PER_LOOK, &mut |frame| visit(route, frame));
        let frames = received.map_err(|end| self.end(end))?;
        // The kernel may have room for waiting bytes now.
        if self.link.as_ref().is_some_and(|link| link.unsent() > 0) {
            self.flush()?;
        }
        Ok(frames)
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        if self.link.as_ref().is_some_and(Link::has_frames) {
            return Ok(());
        }
        wait_on(self.epoll.as_fd(), timeout, parker).map(drop)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }
}
