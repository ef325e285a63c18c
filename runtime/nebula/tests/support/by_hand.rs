//! A real server, with engine and worker on the test's thread, and the test's own network and
//! clock.

use super::hand_wire::{Hand, Toll, hand_wire};
use super::udp_raw::{Answer, Packet, RawClient, SERVER, Welcome};
use nebula::net::{Environment, Time};
use nebula::{Client, ClientConfig, Key, Reply, RunningServer, Server, ServerConfig, Service, Span, Status, Worker};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// After this many turns the status page has surely been written.
const TURNS_PER_STATUS: usize = 257;
pub(crate) const START_NS: u64 = 1_000_000_000;

/// The request of RPC `id`, with `bytes` bytes (12 at least), that asks for a reply of
/// `reply_bytes`.
pub(crate) fn job(id: u64, bytes: usize, reply_bytes: u32) -> Vec<u8> {
    let mut request = [&id.to_le_bytes()[..], &reply_bytes.to_le_bytes()].concat();
    request.extend((12..bytes).map(|at| filler(id, at)));
    request
}

pub(crate) fn reply_of(id: u64, reply_bytes: u32) -> Vec<u8> {
    (0..reply_bytes as usize).map(|at| filler(!id, at)).collect()
}

/// The reply to RPC `id` in one packet, for transfer `tid`.
pub(crate) fn reply(tid: u32, id: u64, reply_bytes: u32) -> Answer {
    Answer::Reply { tid, rpc_bytes: reply_bytes, pkt_idx: 0, payload: reply_of(id, reply_bytes) }
}

/// The acknowledgment of a complete transfer.
pub(crate) fn whole(tid: u32) -> Answer {
    Answer::Ack { tid, is_whole: true, first_missing: 0, bitmap: 0 }
}

/// Byte `at` of a message of `id`, different in each packet.
fn filler(id: u64, at: usize) -> u8 {
    (id.wrapping_add(at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

#[derive(Debug, Default)]
pub(crate) struct Account {
    executed: RefCell<BTreeMap<u64, u32>>,
    clock: Arc<AtomicU64>,
    /// Time of an RPC.
    pub(crate) service_ns: Cell<u64>,
    /// Answers without counting.
    pub(crate) is_plain: Cell<bool>,
}

impl Service for Account {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.clock.fetch_add(self.service_ns.get() * 1000, Relaxed);
        if self.is_plain.get() {
            return reply.write(request);
        }
        let id = u64::from_le_bytes(request[..8].try_into().expect("a job"));
        let reply_bytes = u32::from_le_bytes(request[8..12].try_into().expect("a job"));
        assert_eq!(request, job(id, request.len(), reply_bytes), "the request is what was sent");
        *self.executed.borrow_mut().entry(id).or_default() += 1;
        reply.write(&reply_of(id, reply_bytes));
    }
}

#[derive(Debug)]
pub(crate) struct ByHand {
    pub(crate) running: RunningServer,
    pub(crate) worker: Worker,
    pub(crate) hand: Hand,
    pub(crate) account: Account,
    clock: Arc<AtomicU64>,
    key: Option<[u8; 32]>,
    ports: u16,
}

impl ByHand {
    /// A server of one inline worker with a small buffer.
    pub(crate) fn open(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut config = ServerConfig::default()
            .inline(true)
            .rpc_bytes_max(8192)
            .retention_rpcs(64)
            .reassembly_timeout(Span::from_ms(10))
            .retention_bytes(1 << 18);
        change(&mut config);
        Self::open_with(config)
    }

    /// As above, with a key.
    pub(crate) fn open_sealed(key: [u8; 32]) -> Self {
        let mut scene = Self::open(|config| config.keys = Key::new(key).into());
        scene.key = Some(key);
        scene
    }

    fn open_with(config: ServerConfig) -> Self {
        let clock = Arc::new(AtomicU64::new(START_NS * 1000));
        let (wire, hand) = hand_wire(SocketAddr::from(([10, 0, 0, 1], 7400)));
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
        let server = Server::bind("udp://10.0.0.1:7400").config(config);
        let (running, mut workers) = server.open_over(environment).expect("a server");
        let worker = workers.pop().expect("one worker, the engine too");
        let account = Account { clock: clock.clone(), ..Account::default() };
        Self { running, worker, hand, account, clock, key: None, ports: 0 }
    }

    /// A client of the library at `local`, by the same clock, and its end of the network.
    pub(crate) fn client_over(&self, local: SocketAddr, server: SocketAddr, config: ClientConfig) -> (Client, Hand) {
        let (wire, hand) = hand_wire(local);
        let environment =
            Environment { wire: Box::new(wire), time: Time::Manual(self.clock.clone()), entropy: [5; 32] };
        (Client::connect_over(server, environment, config).expect("a client"), hand)
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.load(Relaxed) / 1000
    }

    pub(crate) fn advance_us(&self, us: u64) {
        self.clock.fetch_add(us * 1_000_000, Relaxed);
    }

    /// From now on the wire takes time, per datagram and per byte.
    pub(crate) fn demand(&self, datagram_in_ps: u64, byte_in_ps: u64, byte_out_ps: u64) {
        self.hand.demand(Toll { clock: self.clock.clone(), datagram_in_ps, byte_in_ps, byte_out_ps });
    }

    pub(crate) fn run(&mut self) {
        while self.worker.turn(&self.account) > 0 || !self.hand.is_quiet() {}
    }

    /// Sends a datagram and returns the server's answers, each with its address.
    pub(crate) fn say(&mut self, from: SocketAddr, datagram: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        self.hand.put(from, datagram);
        self.hear()
    }

    /// The server's answers.
    pub(crate) fn hear(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        self.run();
        let mut said = Vec::new();
        self.hand.take(|to, datagram| said.push((to, datagram.to_vec())));
        said
    }

    /// An unused address of a separate host.
    pub(crate) fn address(&mut self) -> SocketAddr {
        self.ports += 1;
        let [high, low] = self.ports.to_be_bytes();
        SocketAddr::from(([10, 1, high, low], self.ports))
    }

    pub(crate) fn client(&mut self) -> RawClient {
        self.let_in().0
    }

    /// A client with another key than the scene's, after its handshake.
    pub(crate) fn client_with(&mut self, key: [u8; 32]) -> RawClient {
        self.let_in_with(Some(key)).0
    }

    pub(crate) fn welcome(&mut self) -> Welcome {
        self.let_in().1
    }

    fn let_in(&mut self) -> (RawClient, Welcome) {
        self.let_in_with(self.key)
    }

    fn let_in_with(&mut self, key: Option<[u8; 32]>) -> (RawClient, Welcome) {
        let mut client = RawClient::new(self.address(), key);
        let hello = client.hello(77);
        let said = self.say(client.address, &hello);
        let [(to, welcome)] = &said[..] else { panic!("one welcome, not {said:?}") };
        assert_eq!(*to, client.address);
        let welcome = Welcome::read(welcome, key);
        client.enter(&welcome);
        (client, welcome)
    }

    /// Sends a client's messages in one frame and returns the answers; no other client may get any.
    pub(crate) fn ask(&mut self, client: &mut RawClient, messages: &[u8]) -> Vec<Answer> {
        let frame = client.frame(messages);
        let said = self.say(client.address, &frame);
        assert!(said.iter().all(|(to, _)| *to == client.address));
        said.iter().flat_map(|(_, datagram)| client.read(datagram)).collect()
    }

    /// The answers for each of `clients`.
    pub(crate) fn hear_each(&mut self, clients: &[&RawClient]) -> Vec<Vec<Answer>> {
        let said = self.hear();
        let of = |client: &&RawClient| {
            let own = said.iter().filter(|(to, datagram)| *to == client.address && datagram[1] == SERVER);
            own.flat_map(|(_, datagram)| client.read(datagram)).collect()
        };
        clients.iter().map(of).collect()
    }

    /// Sends RPC `id` of `client` as transfer `tid` and checks that it is served.
    pub(crate) fn is_served(&mut self, client: &mut RawClient, tid: u32, id: u64) {
        // RPCs need different stamps: otherwise the later one could look like a forgotten one.
        self.clock.fetch_add(1000, Relaxed);
        let request = job(id, 100, 50);
        let answers = self.ask(client, &Packet::whole(tid, self.now_ns(), &request).bytes());
        assert_eq!(answers, [Answer::Reply { tid, rpc_bytes: 50, pkt_idx: 0, payload: reply_of(id, 50) }]);
        assert_eq!(self.executed(id), 1);
    }

    pub(crate) fn executed(&self, id: u64) -> u32 {
        self.account.executed.borrow().get(&id).copied().unwrap_or(0)
    }

    /// All executions of all RPCs.
    pub(crate) fn executions(&self) -> u32 {
        self.account.executed.borrow().values().sum()
    }

    pub(crate) fn status(&mut self) -> Status {
        for _ in 0..TURNS_PER_STATUS {
            self.worker.turn(&self.account);
        }
        self.running.status().read()
    }
}
