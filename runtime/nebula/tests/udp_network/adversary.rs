//! An adversary. On a sealed network it sees every frame and has no key; on a plain one it sees
//! nothing but is admitted as a client.
//!
//! | it | on the path, sealed | off the path, plain |
//! |---|---|---|
//! | replays | frames of both directions, between the same ends and from its own address | – |
//! | forwards | answers to itself, to clients, as if from the server | – |
//! | floods | – | its own requests, even when refused |
//! | has another owner's key | says hello; seals others' requests, cancels, hellos, replies, NACKs, refusals and welcomes with it | – |
//! | forges | headers of frames that it has seen; plain refusals of sent frames | guessed replies, NACKs, refusals, welcomes, requests, cancels |

use crate::support::draw::Draw;
use crate::support::sim_net::{Datagram, Network};
use crate::support::udp_raw::{
    CLIENT, HELLO, Header, Packet, REFUSAL, RawClient, SERVER, VERSION, WELCOME, cancel, secret_of, unsealed,
};
use crate::udp_network::oracle::FLOOD;
use std::net::SocketAddr;

/// The longest pause between two acts.
const PAUSE_PS: u64 = 1_000_000_000;
const ACTS: u32 = 150;
/// Datagrams of a flood, and requests in each.
const FLOOD_DATAGRAMS: usize = 8;
const FLOOD_REQUESTS: usize = 20;
/// Clients' transfer numbers that it guesses from. They start late, 40 before the numbers wrap.
const GUESSED_TIDS: usize = 120;
const REMEMBERED: usize = 256;

#[derive(Debug)]
pub(crate) struct Adversary {
    draw: Draw,
    address: SocketAddr,
    server: SocketAddr,
    is_on_path: bool,
    /// Frames that it has seen or received.
    seen: Vec<Datagram>,
    /// Its identity as an admitted client.
    own: RawClient,
    /// Its latest transfer, and the server's time at its welcome.
    tid: u32,
    time_ns: u64,
    acts_left: u32,
    next_ps: u64,
}

impl Adversary {
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

    pub(crate) fn next_ps(&self) -> Option<u64> {
        (self.acts_left > 0).then_some(self.next_ps)
    }

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

    /// Sends far more than its share of requests at once, and does not listen.
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

    /// Takes the frames that it has seen. Forwards its own mail to a client, as if from the server.
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

    /// Takes over a welcome's values, even wrong ones: the network may have changed them.
    fn enter(&mut self, welcome: &[u8]) {
        let word =
            |at: usize| welcome.get(at..at + 8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
        if let (Some(incarnation), Some(snid), Some(time_ns), Some(token)) = (word(8), word(16), word(24), word(40)) {
            self.time_ns = time_ns;
            let snid = u32::try_from(snid & 0xFFFF_FFFF).expect("32 bits");
            (self.own.incarnation, self.own.snid, self.own.token) = (incarnation, snid, token);
        }
    }

    /// As [`enter`](Self::enter), for a welcome sealed with its own key.
    fn enter_sealed(&mut self, welcome: &[u8], key: [u8; 32]) {
        if let Some(body) = unsealed(welcome, key) {
            self.enter(&[&welcome[..32], &body].concat());
        }
    }

    /// A frame that only a key owner can make: another's frame, sealed with its own key.
    fn sealed(&mut self, client: SocketAddr, key: [u8; 32]) -> Option<Datagram> {
        if self.own.token == 0 || self.draw.once_in(20) {
            let echo = self.draw.number();
            return Some(Datagram { from: self.address, to: self.server, bytes: self.own.hello(echo) });
        }
        let kind = [HELLO, CLIENT, CLIENT, CLIENT, SERVER, REFUSAL, WELCOME][self.draw.below(7)];
        let is_to_server = matches!(kind, HELLO | CLIENT);
        // A header gives the client, server run and token in clear.
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

    /// Messages that would do harm if a peer took them for another's.
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

    /// A frame that was seen, unchanged or changed.
    fn replayed(&mut self, client: SocketAddr) -> Option<Datagram> {
        if self.seen.is_empty() {
            return None;
        }
        let seen = self.seen[self.draw.below(self.seen.len())].clone();
        // The network may have cut its mail.
        if seen.bytes.len() < 40 {
            return None;
        }
        let is_to_server = seen.to == self.server;
        let mut again = seen.clone();
        match self.draw.below(6) {
            0 | 1 => {}
            2 if is_to_server => again.from = self.address,
            2 => again.to = client,
            // Back to the sender.
            3 => (again.from, again.to) = (seen.to, seen.from),
            // A changed client, run or token in the header.
            4 => again.bytes[[8, 16, 22, 24, 28][self.draw.below(5)]] ^= 1 << self.draw.below(8),
            _ => again.bytes = self.refusal(&seen.bytes),
        }
        Some(again)
    }

    /// A plain refusal of a seen frame, as from a server without a key or of another version.
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

    /// A frame guessed without seeing the network; a client's knowledge is all it has.
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
        // With its own token in place of the client's, or a guess.
        let secret = if self.draw.once_in(2) { secret_of(self.own.token) } else { tid.rotate_left(7) };
        let bytes = if is_to_server { header.plain(&body) } else { header.plain_with(secret, &body) };
        let (from, to) = if is_to_server { (client, self.server) } else { (self.server, client) };
        Datagram { from, to, bytes }
    }
}
