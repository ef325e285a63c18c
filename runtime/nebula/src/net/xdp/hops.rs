//! The next hop of a forwarded packet by the kernel's tables: the destination or a router.
//!
//! The packets' senders are not believed: a forged address would divert another host's packets.

use super::headers::Mac;
use super::tables::{arp, neighbor, next_hop, routes};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// Destinations remembered. One more clears the table, so that forged addresses keep no host out.
const KNOWN_MAX: usize = 65_536;
/// Destinations that are being resolved. Packets to further ones are dropped meanwhile.
const WANTED_MAX: usize = 64;
/// How often the tables are read while destinations are being resolved.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// How long a destination is resolved before it loses its place.
const ASK_FOR: Duration = Duration::from_secs(1);
/// How often known destinations are checked: a host may change its card.
const RENEW_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Hops {
    interface: String,
    known: HashMap<Ipv4Addr, Hop>,
    wanted: Vec<(Ipv4Addr, Instant)>,
    asked: Instant,
    renewed: Instant,
    /// Sends the datagrams that make the kernel resolve an address.
    socket: Option<UdpSocket>,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    ip: Ipv4Addr,
    mac: Mac,
}

impl Hops {
    pub(super) fn of(name: &str, local: Ipv4Addr) -> Self {
        let socket = UdpSocket::bind((local, 0)).and_then(|socket| socket.set_nonblocking(true).map(|()| socket)).ok();
        let now = Instant::now();
        Self {
            interface: name.to_owned(),
            known: HashMap::new(),
            wanted: Vec::with_capacity(WANTED_MAX),
            asked: now - ASK_EVERY,
            renewed: now,
            socket,
        }
    }

    /// The Ethernet address for packets to `to`. If it is unknown, begins to resolve it.
    #[inline]
    pub(super) fn mac(&mut self, to: Ipv4Addr) -> Option<Mac> {
        if let Some(hop) = self.known.get(&to) {
            return Some(hop.mac);
        }
        self.want(to);
        None
    }

    #[cold]
    fn want(&mut self, to: Ipv4Addr) {
        if self.wanted.len() < WANTED_MAX && self.wanted.iter().all(|&(wanted, _)| wanted != to) {
            self.wanted.push((to, Instant::now()));
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.wanted.is_empty() && now >= self.asked + ASK_EVERY
            || !self.known.is_empty() && now >= self.renewed + RENEW_EVERY
    }

    /// Reads the kernel's tables, and has it resolve what they lack.
    #[cold]
    pub(super) fn look_up(&mut self, now: Instant) {
        let (Ok(neighbors), Ok(routes)) = (arp(), routes()) else { return };
        if now >= self.renewed + RENEW_EVERY {
            self.renew(&neighbors);
            self.renewed = now;
        }
        self.asked = now;
        for (to, since) in std::mem::take(&mut self.wanted) {
            let Some(ip) = next_hop(&routes, &self.interface, to) else { continue };
            if let Some(mac) = neighbor(&neighbors, &self.interface, ip) {
                self.learn(to, Hop { ip, mac });
            } else if now < since + ASK_FOR {
                // The discard port (RFC 863).
                let _ = self.socket.as_ref().map(|socket| socket.send_to(&[], SocketAddrV4::new(ip, 9)));
                self.wanted.push((to, since));
            }
        }
    }

    fn learn(&mut self, to: Ipv4Addr, hop: Hop) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(to, hop);
    }

    /// Updates the hops' Ethernet addresses; those that the kernel has forgotten stay.
    #[expect(clippy::iter_over_hash_type, reason = "each is renewed by itself")]
    fn renew(&mut self, neighbors: &str) {
        let mut now: HashMap<Ipv4Addr, Option<Mac>> = HashMap::new();
        for hop in self.known.values_mut() {
            let mac = *now.entry(hop.ip).or_insert_with(|| neighbor(neighbors, &self.interface, hop.ip));
            hop.mac = mac.unwrap_or(hop.mac);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_destinations_are_wanted_those_that_are_known_stay_so() {
        let mut hops = Hops::of("no-such-interface", Ipv4Addr::LOCALHOST);
        let (to, hop) = (Ipv4Addr::new(192, 0, 2, 1), Hop { ip: Ipv4Addr::new(192, 0, 2, 254), mac: [2; 6] });
        hops.learn(to, hop);
        (0..1000).for_each(|other| assert_eq!(hops.mac(Ipv4Addr::from(other)), None));
        assert_eq!((hops.wanted.len(), hops.mac(to)), (WANTED_MAX, Some([2; 6])));
    }

    #[test]
    fn a_hop_that_is_reached_elsewhere_is_renewed_and_one_that_was_forgotten_stays() {
        let table = |mac: &str| format!("head\n192.0.2.254 0x1 0x2 {mac} * v0\n");
        let mut hops = Hops::of("v0", Ipv4Addr::LOCALHOST);
        let to = Ipv4Addr::new(198, 51, 100, 7);
        hops.learn(to, Hop { ip: Ipv4Addr::new(192, 0, 2, 254), mac: [2; 6] });
        hops.renew("head\n");
        assert_eq!(hops.mac(to), Some([2; 6]));
        hops.renew(&table("04:04:04:04:04:04"));
        assert_eq!(hops.mac(to), Some([4; 6]));
    }
}
