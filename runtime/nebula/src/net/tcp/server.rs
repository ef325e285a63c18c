//! A server's end: a listening socket, and the connections of its clients.

use super::clients::Clients;
use super::frames::DATAGRAM_BYTES;
use super::link::READ_BYTES;
use crate::net::sockets::Sockets;
use crate::net::wire::{Route, Wire};
use nebula_nic::Timestamp;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The kernel's waits end at whole milliseconds.
const TICK: Duration = Duration::from_millis(1);
/// Frames taken in one call: of all connections, and of one, so that others have their turn.
const FRAMES_PER_LOOK: usize = 64;
const FRAMES_PER_CLIENT: usize = 16;

/// Datagrams in frames over the TCP connections that clients make to one address.
///
/// # Examples
///
/// ```
/// use nebula::net::{TcpClientWire, TcpServerWire, Wire};
/// let mut server = TcpServerWire::bind("127.0.0.1:0".parse()?, 16)?;
/// let mut client = TcpClientWire::new(server.local())?;
/// client.send(server.local().into(), b"hello", 5)?;
/// client.flush()?;
/// let mut datagrams = 0;
/// while datagrams == 0 {
///     server.wait(None, None)?;
///     client.flush()?;
///     datagrams += server.recv(&mut |_, datagram| assert_eq!(datagram, b"hello"))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TcpServerWire {
    sockets: Sockets,
    local: SocketAddr,
    clients: Clients,
    scratch: Box<[u8; READ_BYTES]>,
}

impl TcpServerWire {
    /// Listens at `local` for at most `clients_max` clients. Further ones are closed at once. Some
    /// more connections may be open of which no client is known so far.
    ///
    /// # Errors
    ///
    /// The kernel's reason, such as that the address is in use, or not one of this machine.
    pub fn bind(local: SocketAddr, clients_max: u32) -> io::Result<Self> {
        Self::over(Sockets::listen(local, false)?, clients_max)
    }

    /// Several wires at one address: the kernel chooses one for each connection.
    pub(crate) fn bind_group(local: SocketAddr, wires: u16, clients_max: u32) -> io::Result<Vec<Self>> {
        let sockets = Sockets::listen_group(local, wires)?;
        sockets.into_iter().map(|sockets| Self::over(sockets, clients_max)).collect()
    }

    fn over(sockets: Sockets, clients_max: u32) -> io::Result<Self> {
        let local = sockets.local()?;
        Ok(Self { sockets, local, clients: Clients::new(clients_max), scratch: Box::new([0; READ_BYTES]) })
    }

    fn hear(&mut self) {
        let Self { sockets, clients, local, .. } = self;
        sockets.look(|news| clients.wake(news));
        let has_several = local.ip().is_unspecified();
        sockets.accept(&[], |sockets, stream| clients.add(sockets, stream, has_several));
    }
}

impl Wire for TcpServerWire {
    fn local(&self) -> SocketAddr {
        self.local
    }

    fn datagram_bytes_max(&self) -> usize {
        DATAGRAM_BYTES
    }

    fn is_lossless(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        self.clients.queue(&to, bytes, segment);
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.clients.send();
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        self.hear();
        // A peer that reads again gets waiting bytes, although no answer is new.
        self.clients.send();
        self.clients.close_ended();
        let Self { clients, scratch, .. } = self;
        let mut frames = 0;
        for _ in 0..clients.ready() {
            frames += clients.read_next(|client| {
                let route = client.route;
                client.link.receive(scratch, FRAMES_PER_CLIENT, &mut |frame| visit(route, frame))
            });
            if frames >= FRAMES_PER_LOOK {
                break;
            }
        }
        Ok(frames)
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        if !self.clients.has_more() {
            let overdue = self.clients.next_overdue().map(|left| Duration::from_nanos(left.as_ns()) + TICK);
            self.sockets.wait(timeout.into_iter().chain(overdue).min(), parker);
        }
        Ok(())
    }

    fn begin_turn(&mut self, now: Timestamp) -> bool {
        self.clients.begin_turn(now)
    }

    fn prove(&mut self, peer: Route) {
        self.clients.prove(&peer);
    }

    fn let_nobody_in(&mut self) {
        self.sockets.stop_listening();
    }

    fn hang_up(&mut self, peer: Route) {
        self.clients.hang_up(&peer);
    }

    fn violations(&self) -> u64 {
        self.clients.violations
    }
}
