//! A bad link over real sockets: a relay between clients and a server that loses, doubles, delays,
//! changes and replays datagrams.

use crate::support::draw::Draw;
use nebula_sys::udp::UdpSocket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many datagrams in a thousand meet each fate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) held_back: usize,
    pub(crate) changed: usize,
    /// An earlier datagram of any direction, client and server run comes again.
    pub(crate) replayed: usize,
}

/// How many datagrams met which fate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) datagrams: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) held_back: u64,
    pub(crate) changed: u64,
    pub(crate) replayed: u64,
    /// Replayed ones that an earlier server sent or received.
    pub(crate) replayed_later: u64,
    /// Replayed ones that reached the server from another client's address.
    pub(crate) replayed_elsewhere: u64,
}

/// A relay between clients and a server, which ends when dropped.
pub(crate) struct Relay {
    /// Where clients find the server.
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    servers: Arc<AtomicU32>,
    thread: Option<JoinHandle<Passed>>,
}

impl Relay {
    pub(crate) fn start(server: SocketAddr, link: Link, seed: u64) -> Self {
        let inner = socket();
        let (address, stop, servers) = (inner.local(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, running) = (stop.clone(), servers.clone());
        let thread = std::thread::spawn(move || Wires::new(inner, server, link, seed).run(&stopped, &running));
        Self { address, stop, servers, thread: Some(thread) }
    }

    /// From now on another server runs at the address.
    pub(crate) fn next_server(&self) {
        self.servers.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the relay; returns its counts.
    pub(crate) fn end(mut self) -> Passed {
        self.join().expect("not ended before")
    }

    fn join(&mut self) -> Option<Passed> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(|thread| thread.join().expect("a relay does not panic"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.join();
        }
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket")
}

#[derive(Clone, Copy, Debug)]
struct Way {
    to_server: bool,
    client: usize,
}

struct Kept {
    way: Way,
    bytes: Vec<u8>,
    /// The server that ran when it came.
    server: u32,
}

/// A client's address, and the socket that represents it to the server.
struct Client {
    address: SocketAddr,
    outer: UdpSocket,
}

/// Datagrams that a relay remembers. Each new one replaces a random one, so that most are young and
/// some come from earlier servers.
const REMEMBERED: usize = 4096;
const REMEMBERED_ONE_IN: usize = 16;
/// The longest delay of a datagram, in microseconds.
const HELD_BACK_US_MAX: usize = 3000;

/// The sockets of a relay, and its kept datagrams.
struct Wires {
    inner: UdpSocket,
    clients: Vec<Client>,
    server: SocketAddr,
    link: Link,
    draw: Draw,
    held_back: Vec<(Instant, Way, Vec<u8>)>,
    before: Vec<Kept>,
    passed: Passed,
}

impl Wires {
    fn new(inner: UdpSocket, server: SocketAddr, link: Link, seed: u64) -> Self {
        let (held_back, before, passed) = (Vec::new(), Vec::new(), Passed::default());
        Self { inner, clients: Vec::new(), server, link, draw: Draw::new(seed), held_back, before, passed }
    }

    fn run(mut self, stop: &AtomicBool, servers: &AtomicU32) -> Passed {
        let mut came = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.receive(&mut came);
            let (is_idle, server) = (came.is_empty(), servers.load(Ordering::Relaxed));
            for (way, mut datagram) in came.drain(..) {
                self.pass(way, &mut datagram, server);
            }
            self.release();
            self.flush();
            if is_idle {
                std::thread::yield_now();
            }
        }
        self.passed
    }

    fn receive(&mut self, came: &mut Vec<(Way, Vec<u8>)>) {
        let clients = &mut self.clients;
        // An error means that the server ended; another may follow.
        let _ = self.inner.recv(&mut |received, datagram| {
            let known = clients.iter().position(|client| client.address == received.from);
            let client = known.unwrap_or_else(|| {
                clients.push(Client { address: received.from, outer: socket() });
                clients.len() - 1
            });
            came.push((Way { to_server: true, client }, datagram.to_vec()));
        });
        for (number, client) in self.clients.iter_mut().enumerate() {
            let way = Way { to_server: false, client: number };
            let _ = client.outer.recv(&mut |_, datagram| came.push((way, datagram.to_vec())));
        }
    }

    fn pass(&mut self, way: Way, datagram: &mut [u8], server: u32) {
        self.passed.datagrams += 1;
        if self.link.replayed > 0 {
            self.replay(server);
            self.remember(way, datagram, server);
        }
        if self.draw.below(1000) < self.link.lost {
            self.passed.lost += 1;
            return;
        }
        if self.draw.below(1000) < self.link.changed {
            self.passed.changed += 1;
            datagram[self.draw.below(datagram.len())] ^= 1 << self.draw.below(8);
        }
        if self.draw.below(1000) < self.link.doubled {
            self.passed.doubled += 1;
            self.hold_back(way, datagram);
        }
        if self.draw.below(1000) < self.link.held_back {
            self.passed.held_back += 1;
            self.hold_back(way, datagram);
        } else {
            self.send(way, datagram);
        }
    }

    fn hold_back(&mut self, way: Way, datagram: &[u8]) {
        let late = Duration::from_micros(self.draw.below(HELD_BACK_US_MAX) as u64);
        self.held_back.push((Instant::now() + late, way, datagram.to_vec()));
    }

    /// Sometimes sends an earlier datagram again; to the server it goes from any client's address.
    fn replay(&mut self, server: u32) {
        if self.draw.below(1000) >= self.link.replayed || self.before.is_empty() {
            return;
        }
        let kept = self.before.swap_remove(self.draw.below(self.before.len()));
        let by = if kept.way.to_server { self.draw.below(self.clients.len()) } else { kept.way.client };
        self.send(Way { client: by, ..kept.way }, &kept.bytes);
        self.passed.replayed += 1;
        self.passed.replayed_later += u64::from(kept.server != server);
        self.passed.replayed_elsewhere += u64::from(by != kept.way.client);
        self.before.push(kept);
    }

    fn remember(&mut self, way: Way, datagram: &[u8], server: u32) {
        if !self.draw.once_in(REMEMBERED_ONE_IN) {
            return;
        }
        let kept = Kept { way, bytes: datagram.to_vec(), server };
        if self.before.len() < REMEMBERED {
            self.before.push(kept);
        } else {
            self.before[self.draw.below(REMEMBERED)] = kept;
        }
    }

    /// Sends delayed datagrams that are due.
    fn release(&mut self) {
        if self.held_back.is_empty() {
            return;
        }
        let now = Instant::now();
        let due: Vec<_> = self.held_back.extract_if(.., |(due, ..)| *due <= now).collect();
        due.iter().for_each(|(_, way, datagram)| self.send(*way, datagram));
    }

    fn send(&mut self, way: Way, datagram: &[u8]) {
        let client = &mut self.clients[way.client];
        let (socket, to) =
            if way.to_server { (&mut client.outer, self.server) } else { (&mut self.inner, client.address) };
        // A datagram that cannot be sent is lost.
        let _ = socket.queue(to, None, datagram, datagram.len());
    }

    fn flush(&mut self) {
        let _ = self.inner.flush();
        for client in &mut self.clients {
            let _ = client.outer.flush();
        }
    }
}
