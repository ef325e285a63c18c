//! Somebody who means harm: of a sealed network one who sees every frame and has no key, of a plain
//! one who sees nothing but is let in too.
//!
//! | it | on the path, sealed | off the path, plain |
//! |---|---|---|
//! | plays again | frames of both directions, to and from whom they were, and from its own address | – |
//! | passes on | the answers that it gets itself, to clients, as if from the server | – |
//! | floods | – | its own requests, whether they are refused or not |
//! | has a key of another owner | says hello as others do; seals with it requests, cancels, hellos, replies, NACKs, refusals and welcomes of others | – |
//! | forges | headers of frames that it has seen; plain refusals that repeat what was sent | replies, NACKs, refusals, welcomes, requests, cancels, by guess |

use crate::support::draw::Draw;
use crate::support::sim_net::{Datagram, Network};
use crate::support::udp_raw::{
    CLIENT, HELLO, Header, Packet, REFUSAL, RawClient, SERVER, VERSION, WELCOME, cancel, secret_of, unsealed,
};
use crate::udp_network::oracle::FLOOD;
use std::net::SocketAddr;

/// Between two acts, at most.
const PAUSE_PS: u64 = 1_000_000_000;
/// Acts of a run.
const ACTS: u32 = 150;
/// Datagrams of a flood, and requests in each.
const FLOOD_DATAGRAMS: usize = 8;
const FLOOD_REQUESTS: usize = 20;
/// Transfers of clients that begin late, from 40 before the end of their numbers on: among these it
/// guesses.
const GUESSED_TIDS: usize = 120;
/// Frames that it remembers.
const REMEMBERED: usize = 256;

#[derive(Debug)]
pub(crate) struct Adversary {
    draw: Draw,
    address: SocketAddr,
    server: SocketAddr,
    is_on_path: bool,
    /// Frames that it has seen, or got.
    seen: Vec<Datagram>,
    /// What it is known by, where it is let in.
    own: RawClient,
    /// Its latest transfer, and the server's time as it was let in.
    tid: u32,
    time_ns: u64,
    acts_left: u32,
    next_ps: u64,
}

impl Adversary {
    /// One at `address`.
    pub(crate) fn new(
        mut draw: Draw,
        network: &Network,
        address: SocketAddr,
        (server, key): (SocketAddr, Option<[u8; 32]>),
        is_on_path: bool,
    ) -> Self {
        network.add_host(address);
        network.set_watched(is_on_path);
        let next_ps = draw.number() % PAUSE_PS;
        let own = RawClient::new(address, key);
        Self { draw, address, server, is_on_path, seen: Vec::new(), own, tid: 0, time_ns: 0, acts_left: ACTS, next_ps }
    }

    /// When it acts next.
    pub(crate) fn next_ps(&self) -> Option<u64> {
        (self.acts_left > 0).then_some(self.next_ps)
    }

    /// Does harm, as far as it can.
    pub(crate) fn act(&mut self, network: &Network, now_ps: u64, clients: &[SocketAddr]) {
        self.acts_left -= 1;
        self.next_ps = now_ps + 1 + self.draw.number() % PAUSE_PS;
        let client = clients[self.draw.below(clients.len())];
        self.listen(network, client);
        let is_guest = !self.is_on_path || self.own.key.is_some();
        if is_guest && self.own.token != 0 && self.draw.once_in(8) {
            self.flood(network, now_ps);
        }
        for _ in 0..=self.draw.below(4) {
            let datagram = match self.own.key {
                Some(key) if self.draw.once_in(2) => self.sealed(client, key),
                _ if self.is_on_path => self.replayed(client),
                _ => Some(self.guessed(client)),
            };
            if let Some(datagram) = datagram {
                network.inject(now_ps, datagram);
            }
        }
    }

    /// Sends its own requests at once, far more than its share, and does not listen.
    fn flood(&mut self, network: &Network, now_ps: u64) {
        for _ in 0..FLOOD_DATAGRAMS {
            let body: Vec<u8> = (0..FLOOD_REQUESTS).flat_map(|_| self.request()).collect();
            let bytes = self.own.frame(&body);
            network.inject(now_ps, Datagram { from: self.address, to: self.server, bytes });
        }
    }

    fn request(&mut self) -> Vec<u8> {
        self.tid = self.tid.wrapping_add(1);
        Packet::whole(self.tid, self.time_ns, &[&FLOOD[..], &[0; 8]].concat()).bytes()
    }

    /// What it has seen, and what has come for itself: that goes on to a client, as if from the
    /// server.
    fn listen(&mut self, network: &Network, client: SocketAddr) {
        self.seen.extend(network.take_seen());
        for got in network.take_mail(self.address) {
            match self.own.key {
                _ if got.bytes.get(1) != Some(&WELCOME) => {}
                Some(key) => self.enter_sealed(&got.bytes, key),
                None if self.is_on_path => {}
                None => self.enter(&got.bytes),
            }
            self.seen.push(Datagram { from: self.server, to: client, bytes: got.bytes });
        }
        self.seen.drain(..self.seen.len().saturating_sub(REMEMBERED));
    }

    /// Takes over what a welcome says, right or not: the network may have changed it.
    fn enter(&mut self, welcome: &[u8]) {
        let word =
            |at: usize| welcome.get(at..at + 8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
        if let (Some(incarnation), Some(snid), Some(time_ns), Some(token)) = (word(8), word(16), word(24), word(40)) {
            self.time_ns = time_ns;
            let snid = u32::try_from(snid & 0xFFFF_FFFF).expect("32 bits");
            (self.own.incarnation, self.own.snid, self.own.token) = (incarnation, snid, token);
        }
    }

    /// As [`enter`](Self::enter), of a welcome that is sealed with its own key.
    fn enter_sealed(&mut self, welcome: &[u8], key: [u8; 32]) {
        if let Some(body) = unsealed(welcome, key) {
            self.enter(&[&welcome[..32], &body].concat());
        }
    }

    /// What only somebody with a key can make: a frame of another, sealed with its own key.
    fn sealed(&mut self, client: SocketAddr, key: [u8; 32]) -> Option<Datagram> {
        if self.own.token == 0 || self.draw.once_in(20) {
            let echo = self.draw.number();
            return Some(Datagram { from: self.address, to: self.server, bytes: self.own.hello(echo) });
        }
        let kind = [HELLO, CLIENT, CLIENT, CLIENT, SERVER, REFUSAL, WELCOME][self.draw.below(7)];
        let is_to_server = matches!(kind, HELLO | CLIENT);
        // A header says in the clear whose it is, of which run, and with which token.
        let fits = |seen: &&Datagram| seen.bytes.len() > 40 && (seen.to == self.server) == is_to_server;
        let fitting: Vec<&Datagram> = self.seen.iter().filter(fits).collect();
        let seen = (*fitting.get(self.draw.below(fitting.len().max(1)))?).clone();
        let long = |at: usize| u64::from_le_bytes(seen.bytes[at..at + 8].try_into().expect("eight bytes"));
        let snid = u32::from_le_bytes(seen.bytes[16..20].try_into().expect("four bytes"));
        let header =
            Header { version: VERSION, kind, incarnation: long(8), snid, datagram_bytes: 1232, word: long(24) };
        let body = self.body_of(kind, seen.bytes[32..40].try_into().expect("eight bytes"));
        self.own.sealed += 1;
        let bytes = header.sealed(&body, key, self.own.sealed);
        let (from, to) = if is_to_server { (seen.from, self.server) } else { (self.server, client) };
        let from = if is_to_server && self.draw.once_in(3) { self.address } else { from };
        Some(Datagram { from, to, bytes })
    }

    /// Messages that would do harm if they were taken for another's.
    fn body_of(&mut self, kind: u8, echo: [u8; 8]) -> Vec<u8> {
        let mut tid =
            || 40_u32.wrapping_neg().wrapping_add(u32::try_from(self.draw.below(GUESSED_TIDS)).expect("small"));
        let tids: Vec<u32> = (0..FLOOD_REQUESTS).map(|_| tid()).collect();
        let payload = [&FLOOD[..], &[0; 8]].concat();
        match kind {
            HELLO => vec![7; 96],
            CLIENT if self.draw.once_in(4) => tids.iter().flat_map(|&tid| cancel(tid, self.time_ns)).collect(),
            CLIENT => tids.iter().flat_map(|&tid| Packet::whole(tid, self.time_ns, &payload).bytes()).collect(),
            REFUSAL => self.refusal_body(echo),
            WELCOME => [&echo[..], &[1; 32]].concat(),
            _ => {
                let kind = [2, 3, 5][self.draw.below(3)];
                tids.iter().flat_map(|tid| [&[kind, 1, 0, 0][..], &tid.to_le_bytes(), &[0; 8]].concat()).collect()
            }
        }
    }

    /// A frame that was seen, as it was or changed.
    fn replayed(&mut self, client: SocketAddr) -> Option<Datagram> {
        if self.seen.is_empty() {
            return None;
        }
        let seen = self.seen[self.draw.below(self.seen.len())].clone();
        // The network may have cut what has come for itself.
        if seen.bytes.len() < 40 {
            return None;
        }
        let is_to_server = seen.to == self.server;
        let mut again = seen.clone();
        match self.draw.below(6) {
            0 | 1 => {}
            2 if is_to_server => again.from = self.address,
            2 => again.to = client,
            // To whom it came from.
            3 => (again.from, again.to) = (seen.to, seen.from),
            // The header says something else: whose, of which run, with which token.
            4 => again.bytes[[8, 16, 22, 24, 28][self.draw.below(5)]] ^= 1 << self.draw.below(8),
            _ => again.bytes = self.refusal(&seen.bytes),
        }
        Some(again)
    }

    /// A plain refusal of what was seen, as a server without a key, or of another version, would
    /// say it.
    fn refusal(&mut self, refused: &[u8]) -> Vec<u8> {
        let header = Header {
            version: if self.draw.once_in(4) { VERSION + 1 } else { VERSION },
            kind: REFUSAL,
            incarnation: u64::from_le_bytes(refused[8..16].try_into().expect("eight bytes")),
            snid: u32::from_le_bytes(refused[16..20].try_into().expect("four bytes")),
            datagram_bytes: 0,
            word: 0,
        };
        let echo = refused.get(32..40).map_or([0; 8], |echo| echo.try_into().expect("eight bytes"));
        header.plain(&self.refusal_body(echo))
    }

    fn refusal_body(&mut self, echo: [u8; 8]) -> Vec<u8> {
        let reason = 1 + u32::try_from(self.draw.below(5)).expect("small");
        [&reason.to_le_bytes()[..], &[0; 4], &echo].concat()
    }

    /// A frame as it may be on a network that it does not see: only what a guest learns is known.
    fn guessed(&mut self, client: SocketAddr) -> Datagram {
        if self.own.token == 0 || self.draw.once_in(50) {
            let echo = self.draw.number();
            return Datagram { from: self.address, to: self.server, bytes: self.own.hello(echo) };
        }
        let kind = [HELLO, CLIENT, SERVER, SERVER, REFUSAL, WELCOME][self.draw.below(6)];
        let near = u32::try_from(self.draw.below(8)).expect("small");
        let header = Header {
            version: VERSION,
            kind,
            incarnation: self.own.incarnation,
            snid: self.own.snid.wrapping_add(near).wrapping_sub(4),
            datagram_bytes: 1232,
            word: if self.draw.once_in(2) { self.own.token } else { self.draw.number() },
        };
        let tid = u32::try_from(self.draw.number() >> 32).expect("32 bits");
        let body = match kind {
            HELLO => vec![7; 96],
            CLIENT if self.draw.once_in(2) => cancel(tid, header.word),
            CLIENT => Packet::whole(tid, header.word, &[9; 40]).bytes(),
            REFUSAL => self.refusal_body(self.own.token.to_le_bytes()),
            WELCOME => vec![1; 40],
            _ => [2, 3, 4, 5]
                .iter()
                .flat_map(|&kind| [&[kind, 1, 0, 0][..], &tid.to_le_bytes(), &[0; 16]].concat())
                .collect(),
        };
        let is_to_server = matches!(kind, HELLO | CLIENT);
        // As if its token were the client's, or by guess.
        let secret = if self.draw.once_in(2) { secret_of(self.own.token) } else { tid.rotate_left(7) };
        let bytes = if is_to_server { header.plain(&body) } else { header.plain_with(secret, &body) };
        let (from, to) = if is_to_server { (client, self.server) } else { (self.server, client) };
        Datagram { from, to, bytes }
    }
}
