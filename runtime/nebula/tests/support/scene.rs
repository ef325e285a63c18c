//! A client and a scripted server on an in-memory network, with a clock that the test moves.

use super::exchange::{End, next_end};
use super::message::Message;
use super::udp_raw::{CLIENT, HELLO, Header, MTU, REFUSAL, SERVER, VERSION, WELCOME, opened, secret_of};
use nebula::net::{Environment, Route, Time, Wire};
use nebula::{Client, ClientConfig};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The server's clock is this far ahead of the client's.
pub(crate) const AHEAD_NS: u64 = 7_000_000_000;
const PS_PER_US: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Network {
    to_server: VecDeque<Vec<u8>>,
    to_client: VecDeque<(SocketAddr, Vec<u8>)>,
    /// How long each sleep of the client would have been.
    waits: Vec<Option<Duration>>,
}

#[derive(Clone, Debug)]
struct MemoryWire {
    network: Arc<Mutex<Network>>,
    datagram_bytes: usize,
}

impl Wire for MemoryWire {
    fn local(&self) -> SocketAddr {
        "127.0.0.1:1000".parse().expect("an address")
    }

    fn datagram_bytes_max(&self) -> usize {
        self.datagram_bytes
    }

    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        assert_eq!(to.peer, server());
        let mut network = self.network.lock().expect("one thread");
        network.to_server.extend(bytes.chunks(segment).map(<[u8]>::to_vec));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let come = std::mem::take(&mut self.network.lock().expect("one thread").to_client);
        let count = come.len();
        for (from, mut datagram) in come {
            visit(from.into(), &mut datagram);
        }
        Ok(count)
    }

    fn wait(&mut self, timeout: Option<Duration>, _parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.network.lock().expect("one thread").waits.push(timeout);
        Ok(())
    }
}

pub(crate) fn server() -> SocketAddr {
    "127.0.0.1:7400".parse().expect("an address")
}

pub(crate) struct Scene {
    pub(crate) client: Client,
    network: Arc<Mutex<Network>>,
    ps: Arc<AtomicU64>,
    pub(crate) incarnation: u64,
    pub(crate) snid: u32,
    /// How far the server's clock has fallen behind.
    pub(crate) behind_ns: u64,
    /// Packets that the server takes without a grant; 0 if it grants none.
    pub(crate) unscheduled: u32,
    /// The echo of the client's last hello.
    echo: [u8; 8],
}

impl Scene {
    /// A welcomed client.
    pub(crate) fn new(config: ClientConfig) -> Self {
        Self::new_over(config, 1232)
    }

    /// The same over a network of other datagrams.
    pub(crate) fn new_over(config: ClientConfig, datagram_bytes: usize) -> Self {
        let mut scene = Self::outside_over(config, datagram_bytes);
        assert!(scene.client.poll().is_none());
        scene.welcome();
        scene
    }

    pub(crate) fn outside(config: ClientConfig) -> Self {
        Self::outside_over(config, 1232)
    }

    /// A client that is about to say hello, over a network of other datagrams.
    pub(crate) fn outside_over(config: ClientConfig, datagram_bytes: usize) -> Self {
        Self::outside_with(config, datagram_bytes, 9)
    }

    /// A welcomed client whose secrets are drawn from `entropy`.
    pub(crate) fn with_entropy(entropy: u8) -> Self {
        let mut scene = Self::outside_with(ClientConfig::default(), 1232, entropy);
        assert!(scene.client.poll().is_none());
        scene.welcome();
        scene
    }

    fn outside_with(config: ClientConfig, datagram_bytes: usize, entropy: u8) -> Self {
        let (network, ps) = (Arc::<Mutex<Network>>::default(), Arc::new(AtomicU64::new(100_000_000 * PS_PER_US)));
        let wire = Box::new(MemoryWire { network: network.clone(), datagram_bytes });
        let environment = Environment { wire, time: Time::Manual(ps.clone()), entropy: [entropy; 32] };
        let client = Client::connect_over(server(), environment, config).expect("a client");
        Self { client, network, ps, incarnation: 0xABCD, snid: 5, behind_ns: 0, unscheduled: 4, echo: [0; 8] }
    }

    pub(crate) fn token(&self) -> u64 {
        u64::from(self.snid) << 32 | 0x70CE
    }

    pub(crate) fn pass_us(&mut self, us: u64) {
        self.ps.fetch_add(us * PS_PER_US, Ordering::Relaxed);
    }

    pub(crate) fn server_ns(&self) -> u64 {
        self.ps.load(Ordering::Relaxed) / 1000 + AHEAD_NS - self.behind_ns
    }

    pub(crate) fn datagrams(&mut self) -> Vec<(Header, Vec<u8>)> {
        let sent = std::mem::take(&mut self.network.lock().expect("one thread").to_server);
        sent.iter().map(|bytes| opened(bytes, None, 0)).collect()
    }

    /// The client's hellos (it must have sent nothing else), each with its name and token.
    pub(crate) fn hellos(&mut self) -> Vec<(u32, u64)> {
        let seen = self.datagrams();
        assert!(seen.iter().all(|(frame, body)| frame.kind == HELLO && body.len() == 128 - 32), "{seen:?}");
        if let Some((_, body)) = seen.last() {
            self.echo.copy_from_slice(&body[..8]);
        }
        seen.iter().map(|(frame, _)| (frame.snid, frame.word)).collect()
    }

    pub(crate) fn welcome(&mut self) {
        self.hear_hello();
        let echo = self.echo;
        self.welcome_with_echo(&echo);
        assert!(self.client.poll().is_none());
    }

    /// Answers the client's last hello; returns the RPCs that end by it.
    pub(crate) fn welcomed(&mut self) -> Vec<End> {
        self.hear_hello();
        let echo = self.echo;
        self.welcome_with_echo(&echo);
        self.ends()
    }

    fn hear_hello(&mut self) {
        for (frame, body) in self.datagrams() {
            if frame.kind == HELLO {
                self.echo.copy_from_slice(&body[..8]);
            }
        }
    }

    /// Welcomes the client with this echo.
    pub(crate) fn welcome_with_echo(&mut self, echo: &[u8; 8]) {
        let mut welcome = echo.to_vec();
        welcome.extend(self.token().to_le_bytes());
        welcome.extend((1_u32 << 20).to_le_bytes());
        welcome.extend(u32::try_from(MTU).expect("small").to_le_bytes());
        welcome.extend((100 * PS_PER_US).to_le_bytes());
        welcome.extend([0; 4]);
        welcome.extend(self.unscheduled.to_le_bytes());
        let header = Header { kind: WELCOME, ..self.header() };
        self.deliver(server(), header.plain(&welcome));
    }

    /// The client's messages since the last look, after a poll that must end nothing.
    pub(crate) fn sent(&mut self) -> Vec<Message> {
        let end = self.end();
        assert!(end.is_none(), "{end:?}");
        self.on_their_way()
    }

    /// The client's messages since the last look.
    pub(crate) fn on_their_way(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        for (frame, body) in self.datagrams() {
            let datagram_bytes = frame.datagram_bytes;
            let expected = Header { kind: CLIENT, word: self.token(), datagram_bytes, ..self.header() };
            assert_eq!(frame, expected);
            messages.extend(Message::read_all(&body));
        }
        messages
    }

    /// The same, but also answers and counts hellos.
    pub(crate) fn all_on_their_way(&mut self, hellos: &mut u32) -> Vec<Message> {
        let mut messages = Vec::new();
        for (frame, body) in self.datagrams() {
            if frame.kind == HELLO {
                self.echo.copy_from_slice(&body[..8]);
                let echo = self.echo;
                self.welcome_with_echo(&echo);
                *hellos += 1;
            } else {
                messages.extend(Message::read_all(&body));
            }
        }
        messages
    }

    pub(crate) fn deliver(&mut self, from: SocketAddr, datagram: Vec<u8>) {
        self.network.lock().expect("one thread").to_client.push_back((from, datagram));
    }

    pub(crate) fn header(&self) -> Header {
        let &Self { incarnation, snid, .. } = self;
        Header { version: VERSION, kind: SERVER, incarnation, snid, datagram_bytes: 16_384, word: self.server_ns() }
    }

    pub(crate) fn frame(&self, messages: &[Message]) -> Vec<u8> {
        self.frame_with(&self.header(), messages)
    }

    /// The same with another header.
    pub(crate) fn frame_with(&self, header: &Header, messages: &[Message]) -> Vec<u8> {
        header.plain_with(secret_of(self.token()), &messages.iter().flat_map(Message::encode).collect::<Vec<_>>())
    }

    /// Delivers messages from the server; the client has not looked yet.
    pub(crate) fn answer(&mut self, messages: &[Message]) {
        // One message per datagram, which is never too long for the client.
        for messages in messages.chunks(1) {
            let datagram = self.frame(messages);
            self.deliver(server(), datagram);
        }
    }

    /// Refuses frames with the client's number.
    pub(crate) fn refuse(&mut self, reason: u32) {
        let mut body = vec![0; 16];
        body[..4].copy_from_slice(&reason.to_le_bytes());
        let header = Header { kind: REFUSAL, word: 0, ..self.header() };
        self.deliver(server(), header.plain_with(secret_of(self.token()), &body));
    }

    /// How long the client sleeps if it may for `timeout`; `None` if it does not.
    pub(crate) fn slept(&mut self, timeout: Duration) -> Option<Duration> {
        self.client.wait(timeout);
        self.network.lock().expect("one thread").waits.pop().map(|slept| slept.expect("never for good"))
    }

    /// The next RPC that has ended.
    pub(crate) fn end(&mut self) -> Option<End> {
        next_end(&mut self.client)
    }

    pub(crate) fn ends(&mut self) -> Vec<End> {
        std::iter::from_fn(|| self.end()).collect()
    }
}
