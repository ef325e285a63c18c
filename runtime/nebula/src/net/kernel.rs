//! The kernel's UDP sockets as a [`Wire`].

use super::wire::{Route, Wire};
use nebula_sys::udp::{DropRule, GroupKey, Offload, UdpSocket};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The longest datagram that every IPv6 link carries without fragmentation: 1,280 bytes (RFC 8200
/// §5) less the headers of IPv6 and UDP.
pub const SAFE_DATAGRAM_BYTES: usize = 1_232;
/// The longest datagram over the loopback network: room for several RPCs of full length.
const LOOPBACK_DATAGRAM_BYTES: usize = 16 << 10;

/// A UDP socket of this machine's kernel.
///
/// A server [binds](Self::bind). A client [connects](Self::connect): the kernel then drops other
/// senders' datagrams, and reports when no process listens at the server's address. Datagrams are
/// never fragmented.
///
/// # Examples
///
/// ```
/// use nebula::net::{KernelWire, Wire};
/// let mut server = KernelWire::bind("127.0.0.1:0".parse()?)?;
/// let mut client = KernelWire::connect(server.local())?;
/// client.send(server.local().into(), b"hello", 5)?;
/// client.flush()?;
/// server.wait(None, None)?;
/// assert_eq!(server.recv(&mut |_, datagram| assert_eq!(datagram, b"hello"))?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KernelWire {
    socket: UdpSocket,
    datagram_bytes_max: usize,
    /// A refusal met while sending; the next flush returns it.
    refusal: Option<io::Error>,
}

impl KernelWire {
    /// A socket at `local` that receives from every address. At the unspecified address, it answers
    /// a peer from the address that the peer sent to.
    ///
    /// # Errors
    ///
    /// The kernel's reason, such as that the address is in use, or not one of this machine.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Ok(Self::of_server(UdpSocket::bind(local)?))
    }

    fn of_server(socket: UdpSocket) -> Self {
        let local = socket.local();
        // Only a connected socket knows its route: ask one that is connected as a client is.
        let bytes = if local.ip().is_loopback() {
            UdpSocket::connect(local).as_ref().map_or(SAFE_DATAGRAM_BYTES, longest)
        } else {
            SAFE_DATAGRAM_BYTES
        };
        Self { socket, datagram_bytes_max: bytes, refusal: None }
    }

    /// Sockets at `local`: `key` chooses a datagram's socket; without it, each sender has one.
    pub(crate) fn bind_group(local: SocketAddr, sockets: u16, key: Option<GroupKey>) -> io::Result<Vec<Self>> {
        Ok(UdpSocket::bind_group(local, sockets, key)?.into_iter().map(Self::of_server).collect())
    }

    /// A socket that exchanges datagrams only with `server`.
    ///
    /// # Errors
    ///
    /// The kernel's reason, such as that there is no route.
    pub fn connect(server: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::connect(server)?;
        let datagram_bytes_max = longest(&socket);
        Ok(Self { socket, datagram_bytes_max, refusal: None })
    }

    /// Switches the kernel's segmentation offload (GSO) and coalescing (GRO), to measure their
    /// effect or because a driver has a bug. By default both are on where the kernel supports them.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn offload(mut self, on: bool) -> io::Result<Self> {
        self.socket.set_offload(Offload { gso: on, gro: on })?;
        Ok(self)
    }

    /// Sets the longest datagram, in bytes, if the path carries another length than the default:
    /// 1,232 bytes, on the loopback network its MTU up to 16 KiB.
    #[must_use]
    pub fn datagram_bytes(mut self, bytes: usize) -> Self {
        self.datagram_bytes_max = bytes.min(nebula_sys::udp::DATAGRAM_BYTES_MAX);
        self
    }

    /// Datagrams that the kernel has not accepted.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.socket.dropped()
    }
}

fn longest(socket: &UdpSocket) -> usize {
    let Some(peer) = socket.peer().filter(|peer| peer.ip().is_loopback()) else { return SAFE_DATAGRAM_BYTES };
    let headers = if peer.is_ipv4() { 20 + 8 } else { 40 + 8 };
    socket.route_mtu().map_or(SAFE_DATAGRAM_BYTES, |mtu| mtu.saturating_sub(headers).min(LOOPBACK_DATAGRAM_BYTES))
}

impl Wire for KernelWire {
    fn local(&self) -> SocketAddr {
        self.socket.local()
    }

    fn datagram_bytes_max(&self) -> usize {
        self.datagram_bytes_max
    }

    #[inline]
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        match self.socket.queue(to.peer, to.local, bytes, segment) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.refusal = Some(error);
                Ok(())
            }
            queued => queued,
        }
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.socket.flush();
        self.refusal.take().map_or(flushed, Err)
    }

    #[inline]
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        self.socket.recv(&mut |received, datagram| visit(Route { peer: received.from, local: received.to }, datagram))
    }

    fn set_drop_rules(&mut self, rules: &[DropRule]) -> io::Result<()> {
        self.socket.set_drop_rules(rules)
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.socket.wait(timeout, parker).map(drop)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(wire: &mut KernelWire, count: usize) -> Vec<(Route, Vec<u8>)> {
        let mut taken = Vec::new();
        while taken.len() < count {
            wire.wait(Some(Duration::from_secs(20)), None).unwrap();
            let come = wire.recv(&mut |from, datagram| taken.push((from, datagram.to_vec()))).unwrap();
            assert!(come > 0, "{} of {count} came in 20 s", taken.len());
        }
        taken
    }

    fn echo(server: &mut KernelWire, client: &mut KernelWire, to: SocketAddr, datagrams: usize) {
        let bytes: Vec<u8> = (0..datagrams * 10).map(|at| u8::try_from(at % 251).unwrap()).collect();
        client.send(to.into(), &bytes, 10).unwrap();
        client.flush().unwrap();
        for (from, datagram) in receive(server, datagrams) {
            server.send(from, &datagram, 10).unwrap();
        }
        server.flush().unwrap();
        let back: Vec<u8> = receive(client, datagrams).into_iter().flat_map(|(_, datagram)| datagram).collect();
        assert_eq!(back, bytes);
    }

    #[test]
    fn datagrams_go_there_and_back_with_and_without_offload() {
        for on in [true, false] {
            let mut server = KernelWire::bind("127.0.0.1:0".parse().unwrap()).unwrap().offload(on).unwrap();
            let mut client = KernelWire::connect(server.local()).unwrap().offload(on).unwrap();
            let to = server.local();
            echo(&mut server, &mut client, to, 200);
            assert_eq!((server.dropped(), client.dropped()), (0, 0));
        }
    }

    #[test]
    fn an_unspecific_server_answers_from_where_it_was_found() {
        let mut server = KernelWire::bind("0.0.0.0:0".parse().unwrap()).unwrap();
        for found_at in ["127.0.0.1", "127.0.0.2"] {
            let to = SocketAddr::new(found_at.parse().unwrap(), server.local().port());
            echo(&mut server, &mut KernelWire::connect(to).unwrap(), to, 3);
        }
    }

    #[test]
    fn the_loopback_network_takes_longer_datagrams_than_others() {
        let server = KernelWire::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = KernelWire::connect(server.local()).unwrap();
        assert_eq!(server.datagram_bytes_max(), client.datagram_bytes_max());
        assert!(client.datagram_bytes_max() > SAFE_DATAGRAM_BYTES);
        let open = KernelWire::bind("0.0.0.0:0".parse().unwrap()).unwrap();
        assert_eq!(open.datagram_bytes_max(), SAFE_DATAGRAM_BYTES);
        assert_eq!(open.datagram_bytes(1_400).datagram_bytes_max(), 1_400);
    }

    #[test]
    fn a_refusal_met_while_sending_is_told_by_the_flush() {
        let server = KernelWire::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let to = server.local();
        let mut client = KernelWire::connect(to).unwrap();
        drop(server);
        client.send(to.into(), &[1], 1).unwrap();
        client.flush().unwrap();
        client.send(to.into(), &vec![1; 400_000], 10_000).unwrap();
        assert_eq!(client.flush().unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
