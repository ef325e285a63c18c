//! A connection that the kernel reports broken, of a client of two servers: an idempotent RPC goes
//! to the other server at the next poll, and no other does.

use crate::support::draw::Draw;
use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::sim_net::{Link, Network, SimWire};
use crate::support::{endpoint, lasting_udp_endpoint, unhurried_config};
use nebula::net::{Environment, Route, Time, Wire};
use nebula::{
    AsyncClient, Balance, CallError, Client, ClientConfig, Completion, Options, Reply, RunningServer, Server,
    ServerConfig, Span, Worker,
};
use nebula_testing::wait::{Watchdog, wait_until};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::process::exit;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const STEP_PS: u64 = 50_000_000;
/// Longer than a test waits for anything.
const NEVER: Duration = Duration::from_secs(600);

/// A wire whose kernel reports an error once it is asked to.
#[derive(Debug)]
struct Breakable {
    wire: SimWire,
    error: Arc<Mutex<Option<io::ErrorKind>>>,
}

impl Wire for Breakable {
    fn local(&self) -> SocketAddr {
        self.wire.local()
    }

    fn datagram_bytes_max(&self) -> usize {
        self.wire.datagram_bytes_max()
    }

    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        self.wire.send(to, bytes, segment)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        if let Some(error) = self.error.lock().expect("nobody panics with it").take() {
            return Err(error.into());
        }
        self.wire.recv(visit)
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.wire.wait(timeout, parker)
    }
}

/// Two servers, each of which serves when it is told to, and a client that knows both.
struct Scene {
    network: Network,
    servers: Vec<(RunningServer, Vec<Worker>)>,
    client: Client,
    errors: [Arc<Mutex<Option<io::ErrorKind>>>; 2],
}

fn server_at(server: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + u8::try_from(server).expect("few")], 7400))
}

fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

impl Scene {
    fn new() -> Self {
        let (network, mut draw) = (Network::new(1, Link::CLEAN, false), Draw::new(1));
        let errors: [Arc<Mutex<Option<io::ErrorKind>>>; 2] = Default::default();
        let mut environment = |wire: Box<dyn Wire>| {
            let entropy = draw.bytes(32).try_into().expect("32 bytes");
            Environment { wire, time: Time::Manual(network.now_ps().clone()), entropy }
        };
        let mut servers = Vec::new();
        let mut links = Vec::new();
        for (number, error) in errors.iter().enumerate() {
            let wire = network.host(server_at(number), 1232).0;
            let config = ServerConfig::default().inline(true).insecure(true);
            let server = Server::bind(&format!("udp://{}", server_at(number))).config(config);
            let opened = server.open_over(environment(Box::new(wire)));
            servers.push(opened.expect("a server"));
            let from = SocketAddr::from(([10, 0, 1, 1], 1 + u16::try_from(number).expect("few")));
            let wire = Breakable { wire: network.host(from, 1232).0, error: error.clone() };
            links.push((server_at(number), environment(Box::new(wire))));
        }
        let config = ClientConfig::default().insecure(true).balance(Balance::RoundRobin);
        let client = Client::connect_all_over(links, config).expect("a client");
        let mut scene = Self { network, servers, client, errors };
        for _ in 0..2 {
            scene.client.submit(b"hello").expect("room");
        }
        let mut answered = 0;
        while answered < 2 {
            scene.pass();
            (0..2).for_each(|server| scene.turn(server));
            answered += scene.ends().len();
        }
        scene.requests(b"hello");
        scene
    }

    fn turn(&mut self, server: usize) {
        self.servers[server].1[0].turn(&echo);
    }

    fn pass(&self) {
        let until = self.network.now_ps().load(Relaxed) + STEP_PS;
        while let Some(at) = self.network.next_ps().filter(|&at| at <= until) {
            self.network.now_ps().fetch_max(at, Relaxed);
            self.network.deliver();
        }
        self.network.now_ps().fetch_max(until, Relaxed);
    }

    fn ends(&mut self) -> Vec<Result<(), CallError>> {
        std::iter::from_fn(|| self.client.poll().map(|Completion { result, .. }| result.map(drop))).collect()
    }

    /// How many requests have come to each server since the last look.
    fn requests(&self, request: &[u8]) -> [usize; 2] {
        self.pass();
        let in_one = |bytes: &[u8]| bytes.windows(request.len()).filter(|&part| part == request).count();
        [0, 1].map(|server| self.network.take_mail(server_at(server)).iter().map(|mail| in_one(&mail.bytes)).sum())
    }

    /// Submits an RPC, and breaks the connection where it is. Returns that server's number, and how
    /// many requests the other one has after the next poll.
    fn break_under(&mut self, error: io::ErrorKind, options: Options) -> (usize, usize) {
        self.client.submit_with(b"under way", options).expect("room");
        self.client.flush();
        let at = self.requests(b"under way").iter().position(|&requests| requests > 0).expect("one has it");
        *self.errors[at].lock().expect("nobody panics with it") = Some(error);
        assert!(self.client.poll().is_none());
        (at, self.requests(b"under way")[1 - at])
    }
}

const BREAKS: [io::ErrorKind; 2] = [io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionRefused];

#[test]
fn an_idempotent_rpc_goes_to_the_other_server_at_the_next_poll() {
    for error in BREAKS {
        let (_, requests) = Scene::new().break_under(error, Options::default().idempotent(true));
        assert_eq!(requests, 1, "{error}");
    }
}

#[test]
fn an_rpc_that_may_do_harm_stays_where_it_is() {
    for error in BREAKS {
        let (_, requests) = Scene::new().break_under(error, Options::default());
        assert_eq!(requests, 0, "{error}");
    }
}

#[test]
fn a_server_behind_a_broken_connection_gets_no_rpcs_while_the_other_one_is_well() {
    let mut scene = Scene::new();
    let (at, _) = scene.break_under(io::ErrorKind::ConnectionReset, Options::default().idempotent(true));
    scene.client.submit_with(b"another", Options::default().idempotent(true)).expect("room");
    // For longer than it would rest after an RPC was lost there.
    for _ in 0..400 {
        scene.pass();
        scene.turn(1 - at);
        assert!(scene.ends().iter().all(Result::is_ok));
    }
    for _ in 0..4 {
        scene.client.submit(b"later").expect("room");
    }
    scene.client.flush();
    assert_eq!(scene.requests(b"later")[1 - at], 4);
}

/// Serves until it is killed, and never answers `halt`. It answers anything else with `victim`.
fn play_victim(at: &str) -> ! {
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        if request == b"halt" {
            say("halted");
            loop {
                std::thread::park();
            }
        }
        reply.write(b"victim");
    };
    let server = Server::bind(at).config(unhurried_config(|_| ())).serve(service).expect("a server");
    say("ready");
    wait_for_end();
    server.stop();
    exit(0);
}

/// A server that is to be killed, another one, their endpoints, and the configuration of a client
/// no time-out of which would end an RPC within the test.
fn start(test: &str, victim_at: &str, other_at: &str) -> (Process, RunningServer, String, ClientConfig) {
    if let Some(words) = role() {
        play_victim(&words[0]);
    }
    let mut victim = Process::spawn(test, &[victim_at]);
    victim.wait_for("ready");
    let other = Server::bind(other_at).config(unhurried_config(|_| ())).serve(echo).expect("a server");
    let config = ClientConfig::default().call_timeout(NEVER).transmissions_max(u32::MAX);
    let endpoints = format!("{victim_at},{}", other.endpoint());
    (victim, other, endpoints, config.balance(Balance::RoundRobin))
}

/// Two RPCs, one at each server; the one at the server that is killed is answered by the other.
fn a_killed_server_s_rpc_is_answered(test: &'static str, victim_at: &str, other_at: &str) {
    let _watchdog = Watchdog::new(test);
    let (mut victim, other, endpoints, config) = start(test, victim_at, other_at);
    let mut client = Client::connect_with(&endpoints, config).expect("a client");
    wait_until("both servers", || (client.call(b"who?") == Ok(b"victim")).then_some(()));
    for _ in 0..2 {
        client.submit_with(b"halt", Options::default().idempotent(true)).expect("room");
    }
    client.flush();
    victim.wait_for("halted");
    victim.kill();
    for _ in 0..2 {
        let reply = wait_until("an answer", || client.poll().map(|done| done.result.map(<[u8]>::to_vec)));
        assert_eq!(reply, Ok(b"halt".to_vec()));
    }
    other.stop();
}

/// The same of two tasks that sleep.
fn a_killed_server_s_task_is_answered(test: &'static str, victim_at: &str, other_at: &str) {
    let _watchdog = Watchdog::new(test);
    let (mut victim, other, endpoints, config) = start(test, victim_at, other_at);
    let client = AsyncClient::connect_with(&endpoints, config).wait().expect("a client").poll_for(Span::ZERO);
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("an executor");
    let who = || executor.block_on(client.call(b"who?"));
    wait_until("both servers", || (who() == Ok(b"victim".to_vec())).then_some(()));
    let asleep = [(); 2].map(|()| {
        let (client, harmless) = (client.clone(), Options::default().idempotent(true));
        executor.spawn(async move { client.call_with(b"halt", harmless).await })
    });
    victim.wait_for("halted");
    victim.kill();
    for call in asleep {
        assert_eq!(executor.block_on(call).expect("no panic"), Ok(b"halt".to_vec()));
    }
    other.stop();
}

#[test]
fn over_tcp_a_sleeping_task_gets_its_answer_from_the_other_server() {
    const TEST: &str = "broken_connections::over_tcp_a_sleeping_task_gets_its_answer_from_the_other_server";
    let victim_at = lasting_udp_endpoint().replace("udp://", "tcp://");
    a_killed_server_s_task_is_answered(TEST, &victim_at, "tcp://127.0.0.1:0");
}

#[test]
fn over_shared_memory_a_sleeping_task_gets_its_answer_from_the_other_server() {
    const TEST: &str = "broken_connections::over_shared_memory_a_sleeping_task_gets_its_answer_from_the_other_server";
    a_killed_server_s_task_is_answered(TEST, &endpoint("broken-asleep"), &endpoint("broken-awake"));
}

#[test]
fn over_tcp_an_rpc_at_a_killed_server_is_answered_by_the_other() {
    const TEST: &str = "broken_connections::over_tcp_an_rpc_at_a_killed_server_is_answered_by_the_other";
    let victim_at = lasting_udp_endpoint().replace("udp://", "tcp://");
    a_killed_server_s_rpc_is_answered(TEST, &victim_at, "tcp://127.0.0.1:0");
}

#[test]
fn over_udp_an_rpc_at_a_killed_server_is_answered_by_the_other() {
    const TEST: &str = "broken_connections::over_udp_an_rpc_at_a_killed_server_is_answered_by_the_other";
    a_killed_server_s_rpc_is_answered(TEST, &lasting_udp_endpoint(), "udp://127.0.0.1:0");
}

#[test]
fn over_shared_memory_an_rpc_at_a_killed_server_is_answered_by_the_other() {
    const TEST: &str = "broken_connections::over_shared_memory_an_rpc_at_a_killed_server_is_answered_by_the_other";
    a_killed_server_s_rpc_is_answered(TEST, &endpoint("broken-victim"), &endpoint("broken-other"));
}
