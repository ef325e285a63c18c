//! The Ethernet addresses of peers.
//!
//! A peer's first frame gives its address. A later frame with another one may be forged: the
//! kernel, which asks the network (ARP), decides.

use super::headers::Mac;
use super::tables::{self, neighbor};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// Peers remembered. One more clears the table, so that forged addresses keep no peer out.
const PEERS_MAX: usize = 65_536;
/// How often the kernel is asked at most, and how long a client waits for its server's address.
const ASK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Neighbors {
    interface: String,
    peers: HashMap<Ipv4Addr, Mac>,
    /// A cache by the IP address' last byte: the map's keyed hash is the slowest step of a frame.
    near: Box<[Option<(Ipv4Addr, Mac)>; 256]>,
    asked: Option<Instant>,
}

impl Neighbors {
    pub(super) fn of(interface: &str) -> Self {
        Self { interface: interface.to_owned(), peers: HashMap::new(), near: Box::new([None; 256]), asked: None }
    }

    #[inline]
    pub(super) fn mac(&self, peer: Ipv4Addr) -> Option<Mac> {
        match self.near[place(peer)] {
            Some((near, mac)) if near == peer => Some(mac),
            _ => self.peers.get(&peer).copied(),
        }
    }

    #[inline]
    pub(super) fn seen(&mut self, peer: Ipv4Addr, mac: Mac) {
        if self.near[place(peer)] != Some((peer, mac)) {
            self.learn(peer, mac);
            self.near[place(peer)] = self.peers.get(&peer).map(|&mac| (peer, mac));
        }
    }

    #[cold]
    fn learn(&mut self, peer: Ipv4Addr, mac: Mac) {
        if self.peers.get(&peer) == Some(&mac) {
            return;
        }
        if !self.peers.contains_key(&peer) {
            if self.peers.len() >= PEERS_MAX {
                self.peers.clear();
                self.near.fill(None);
            }
            self.peers.insert(peer, mac);
            return;
        }
        let now = Instant::now();
        if self.asked.is_some_and(|asked| now < asked + ASK_EVERY) {
            return;
        }
        self.asked = Some(now);
        // Behind a router the kernel knows only the router; then its address has changed.
        let mac = self.known_to_kernel(peer).ok().flatten().unwrap_or(mac);
        self.peers.insert(peer, mac);
    }

    /// Has the kernel resolve `peer` or its router; `HostUnreachable` without answer in a second.
    pub(super) fn resolve(&mut self, local: Ipv4Addr, peer: Ipv4Addr) -> io::Result<()> {
        let socket = UdpSocket::bind((local, 0))?;
        let hop = self.next_hop(peer)?;
        let until = Instant::now() + ASK_EVERY;
        loop {
            if let Some(mac) = self.known_to_kernel(hop)? {
                self.peers.insert(peer, mac);
                return Ok(());
            }
            if Instant::now() >= until {
                let text = format!("nobody at {hop} answers on {}", self.interface);
                return Err(io::Error::new(io::ErrorKind::HostUnreachable, text));
            }
            // A datagram to the discard port (RFC 863) makes the kernel ask.
            let _ = socket.send_to(&[], SocketAddrV4::new(hop, 9));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn known_to_kernel(&self, peer: Ipv4Addr) -> io::Result<Option<Mac>> {
        Ok(neighbor(&tables::arp()?, &self.interface, peer))
    }

    fn next_hop(&self, peer: Ipv4Addr) -> io::Result<Ipv4Addr> {
        let text = || format!("no route to {peer} on {}", self.interface);
        tables::next_hop(&tables::routes()?, &self.interface, peer)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NetworkUnreachable, text()))
    }
}

fn place(peer: Ipv4Addr) -> usize {
    usize::from(peer.octets()[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Ipv4Addr {
        text.parse().unwrap()
    }

    #[test]
    fn however_many_addresses_are_forged_a_new_peer_is_known() {
        let mut neighbors = Neighbors::of("no-such-interface");
        let forged = u32::try_from(PEERS_MAX).unwrap();
        (0..forged).for_each(|ip| neighbors.seen(Ipv4Addr::from(ip), [2, 0, 0, 0, 0, 9]));
        let (peer, mac) = (ip("192.0.2.1"), [2, 0, 0, 0, 0, 1]);
        neighbors.seen(peer, mac);
        assert_eq!((neighbors.mac(peer), neighbors.peers.len()), (Some(mac), 1));
        assert_eq!(neighbors.mac(Ipv4Addr::from(5)), None, "nothing of before is left near");
    }

    #[test]
    fn a_frame_that_says_otherwise_changes_nothing_unless_the_kernel_knows_nobody() {
        let mut neighbors = Neighbors::of("no-such-interface");
        let (peer, first, other) = (ip("192.0.2.1"), [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        neighbors.seen(peer, first);
        neighbors.asked = Some(Instant::now());
        neighbors.seen(peer, other);
        assert_eq!(neighbors.mac(peer), Some(first), "the kernel is asked once a second");
        neighbors.asked = None;
        neighbors.seen(peer, other);
        assert_eq!(neighbors.mac(peer), Some(other));
    }
}
