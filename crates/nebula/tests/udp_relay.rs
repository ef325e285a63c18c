//! Real sockets with a bad link between them: a relay that loses, doubles, holds back and changes datagrams.

use crate::support;

use crate::support::draw::Draw;
use crate::support::server_config;
use crate::support::watch::Watchdog;
use nebula::{
    AsyncClient, CallError, Client, ClientConfig, Endpoint, Executed, Key, Keys, Queueing, Reply, RetryPolicy, Server,
    Span,
};
use std::collections::{HashMap, VecDeque};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What becomes of datagrams, each in a thousand.
#[derive(Clone, Copy)]
struct Link {
    lost: usize,
    doubled: usize,
    held_back: usize,
    changed: usize,
    /// Of a datagram of before, of which direction and incarnation ever, once more.
    replayed: usize,
}

/// A relay between one client and a server.
struct Relay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn start(server: SocketAddr, link: Link, seed: u64) -> Self {
        let (inner, outer) = (socket(), socket());
        let (address, stop) = (inner.local_addr().expect("bound"), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || relay(&inner, &outer, server, link, seed, &stopped));
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("an option");
    socket
}

/// Datagrams held back, with the moment from which they go on, and whether to the server.
type HeldBack = Vec<(Instant, bool, Vec<u8>)>;

fn relay(inner: &UdpSocket, outer: &UdpSocket, server: SocketAddr, link: Link, seed: u64, stop: &AtomicBool) {
    let (mut draw, mut client, mut held): (_, Option<SocketAddr>, HeldBack) = (Draw::new(seed), None, Vec::new());
    let (mut buffer, mut before) = (vec![0; 65_536], VecDeque::new());
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for is_request in [true, false] {
            let from = if is_request { inner } else { outer };
            while let Ok((bytes, sender)) = from.recv_from(&mut buffer) {
                is_idle = false;
                client = if is_request { Some(sender) } else { client };
                let datagram = &mut buffer[..bytes];
                if link.replayed > 0 {
                    replay(&mut draw, link, &mut before, &mut held, (is_request, datagram));
                }
                if draw.below(1000) < link.lost {
                    continue;
                }
                if draw.below(1000) < link.changed {
                    datagram[draw.below(bytes)] ^= 1 << draw.below(8);
                }
                let now = Instant::now();
                let late = now + Duration::from_micros(draw.below(3000) as u64);
                let copies = 1 + usize::from(draw.below(1000) < link.doubled);
                let is_late = draw.below(1000) < link.held_back;
                held.extend(
                    (0..copies)
                        .map(|copy| (if is_late || copy > 0 { late } else { now }, is_request, datagram.to_vec())),
                );
            }
        }
        let now = Instant::now();
        for (_, is_request, datagram) in held.extract_if(.., |(due, ..)| *due <= now) {
            let _ = match (is_request, client) {
                (true, _) => outer.send_to(&datagram, server),
                (false, Some(client)) => inner.send_to(&datagram, client),
                (false, None) => Ok(0),
            };
        }
        if is_idle {
            std::thread::yield_now();
        }
    }
}

/// Remembers a datagram, and lets one of before go on again.
fn replay(
    draw: &mut Draw,
    link: Link,
    before: &mut VecDeque<(bool, Vec<u8>)>,
    held: &mut HeldBack,
    (is_request, datagram): (bool, &[u8]),
) {
    if draw.below(1000) < link.replayed && !before.is_empty() {
        let (is_request, again) = before[draw.below(before.len())].clone();
        held.push((Instant::now(), is_request, again));
    }
    // One in eight, so that they are of long before too, and of servers that have ended.
    if draw.once_in(8) {
        before.push_back((is_request, datagram.to_vec()));
        before.drain(..before.len().saturating_sub(REMEMBERED));
    }
}

/// Datagrams that a relay remembers.
const REMEMBERED: usize = 4096;

/// Calls over a link: each gets the reply to its own request, and none runs twice.
fn call_over(link: Link, key: Option<Key>, calls: u64, seed: u64) {
    let runs: Arc<Mutex<HashMap<Vec<u8>, u32>>> = Arc::default();
    let seen = runs.clone();
    let config = server_config(|config| {
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 4 << 20 };
        config.inline = true;
        config.keys = key.clone().map_or_else(Keys::default, Keys::from);
        // However late a client comes for its reply on a busy machine, it is still there.
        config.retention_bytes = 64 << 20;
    });
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        *seen.lock().expect("one thread").entry(request.to_vec()).or_default() += 1;
        reply.write(request);
    };
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(service).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, link, seed);
    let mut config = ClientConfig::default().call_timeout(Duration::from_secs(30)).deadline(Span::from_secs(30));
    config.keys = key.map_or_else(Keys::default, Keys::from);
    // An RPC that was incomplete too long is refused, and may be tried again.
    config.retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 10, seed };
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    let mut draw = Draw::new(seed);
    let (mut outstanding, mut sent, mut replied) = (HashMap::new(), 0, 0);
    while replied < calls {
        while sent < calls && outstanding.len() < 32 {
            let size = [16, 16, 100, 1088, 5000, 40_000][draw.below(6)];
            let mut request = draw.bytes(size);
            request[..8].copy_from_slice(&sent.to_le_bytes());
            let Ok(ticket) = client.submit(&request) else { break };
            outstanding.insert(ticket, request);
            sent += 1;
        }
        let Some(done) = client.poll() else {
            std::thread::yield_now();
            continue;
        };
        let request = outstanding.remove(&done.ticket).expect("one end a ticket");
        match done.result {
            Ok(reply) => assert!(reply == request, "another's reply"),
            Err(error) => panic!("no reply within 30 s: {error}"),
        }
        replied += 1;
    }
    let status = server.stop();
    let runs = runs.lock().expect("stopped");
    assert!(runs.len() as u64 == calls && runs.values().all(|&runs| runs == 1), "some ran twice");
    assert!(link.lost == 0 || status.repeated > 0, "something was sent again: {status:?}");
    assert!(link.changed == 0 || status.violations > 0, "something was changed: {status:?}");
}

#[test]
fn a_link_that_loses_and_doubles_costs_no_call_and_runs_none_twice() {
    let _watchdog = Watchdog::new("a_link_that_loses_and_doubles_costs_no_call_and_runs_none_twice");
    call_over(Link { lost: 50, doubled: 50, held_back: 0, changed: 0, replayed: 0 }, None, 1500, 1);
}

#[test]
fn a_link_that_reorders_and_changes_costs_no_call_and_runs_none_twice() {
    let _watchdog = Watchdog::new("a_link_that_reorders_and_changes_costs_no_call_and_runs_none_twice");
    call_over(Link { lost: 10, doubled: 20, held_back: 200, changed: 30, replayed: 0 }, None, 1500, 2);
}

#[test]
fn a_sealed_link_is_as_patient() {
    let _watchdog = Watchdog::new("a_sealed_link_is_as_patient");
    call_over(
        Link { lost: 30, doubled: 30, held_back: 100, changed: 30, replayed: 0 },
        Some(Key::new([5; 32])),
        800,
        3,
    );
}

#[test]
fn tasks_that_sleep_over_a_bad_link_get_their_replies() {
    let _watchdog = Watchdog::new("tasks_that_sleep_over_a_bad_link_get_their_replies");
    let config = server_config(|config| {
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 4 << 20 };
        config.retention_bytes = 64 << 20;
    });
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(support::echo).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, Link { lost: 100, doubled: 20, held_back: 100, changed: 10, replayed: 0 }, 5);
    let mut config = ClientConfig::default().slots(8).call_timeout(Duration::from_secs(60));
    config.retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 10, seed: 5 };
    let client = AsyncClient::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    let client = client.poll_for(Span::ZERO);
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("an executor");
    executor.block_on(async {
        let tasks: Vec<_> = (0..12_u8)
            .map(|task| {
                let client = client.clone();
                tokio::spawn(async move {
                    for call in 0..20_u8 {
                        let request =
                            vec![task.wrapping_mul(20).wrapping_add(call); if call % 5 == 0 { 5000 } else { 16 }];
                        assert!(client.call(&request).await.as_ref() == Ok(&request), "task {task}, call {call}");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("all answered");
        }
    });
    assert!(server.stop().repeated > 0, "something was sent again");
}

#[test]
fn a_link_that_is_gone_ends_every_call_by_its_deadline() {
    let _watchdog = Watchdog::new("a_link_that_is_gone_ends_every_call_by_its_deadline");
    let runs: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let seen = runs.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        seen.lock().expect("one thread").push(request.to_vec());
        support::echo(request, reply);
    };
    let server = Server::bind("udp://127.0.0.1:0").serve(service).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, Link { lost: 0, doubled: 0, held_back: 0, changed: 0, replayed: 0 }, 1);
    let config = ClientConfig::default().deadline(Span::from_ms(200));
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    client.call(b"there").expect("an echo");
    drop(relay);
    let started = Instant::now();
    // As many as there is room for, which is little after losses.
    let tickets: Vec<_> = (0..10_u8).map_while(|i| client.submit(&[i]).ok()).collect();
    assert!(!tickets.is_empty());
    let mut ended = Vec::new();
    while ended.len() < tickets.len() {
        assert!(started.elapsed() < Duration::from_secs(10), "a deadline of 200 ms");
        if let Some(done) = client.poll() {
            // What the window has held back was not even sent.
            let Err(error @ (CallError::TimedOut | CallError::Expired)) = done.result else {
                panic!("{:?}", done.result);
            };
            assert_ne!(error.was_executed(), Executed::Yes, "nothing has reached the server");
            ended.push(done.ticket);
        } else {
            std::thread::yield_now();
        }
    }
    assert!(started.elapsed() >= Duration::from_millis(200));
    ended.sort_unstable();
    assert_eq!(ended, tickets, "each once");
    server.stop();
    assert_eq!(*runs.lock().expect("stopped"), [b"there"]);
}

/// What each call of a run came to.
struct Account {
    executed: Box<[AtomicU8]>,
}

impl Account {
    fn serve(self: &Arc<Self>, at: &str, keys: &Keys) -> nebula::RunningServer {
        let account = self.clone();
        let config = server_config(|config| (config.inline, config.keys) = (true, keys.clone()));
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            let call = u64::from_le_bytes(request.try_into().expect("eight bytes"));
            account.executed[usize::try_from(call).expect("small")].fetch_add(1, Ordering::Relaxed);
            reply.write(request);
        };
        Server::bind(at).config(config).serve(service).expect("a server")
    }

    fn executed(&self, call: u64) -> u8 {
        self.executed[usize::try_from(call).expect("small")].load(Ordering::Relaxed)
    }
}

/// Many calls over a bad link, to servers that are ended and followed by others at their address: none is executed twice, and each ends as what
/// became of it.
fn many_calls_over(link: Link, keys: &Keys, calls: u64, seed: u64) {
    let account = Arc::new(Account { executed: (0..calls).map(|_| AtomicU8::new(0)).collect() });
    let mut server = account.serve("udp://127.0.0.1:0", keys);
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, link, seed);
    let config = ClientConfig::default().keys(keys.clone()).slots(512).deadline(Span::from_secs(60));
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    let (mut open, mut begun, mut replied) = (HashMap::new(), 0, 0);
    let mut servers = 1;
    while begun < calls || !open.is_empty() {
        while begun < calls
            && let Ok(ticket) = client.submit(&begun.to_le_bytes())
        {
            open.insert(ticket, begun);
            begun += 1;
        }
        if begun >= servers * calls / SERVERS {
            server.stop();
            server = account.serve(&format!("udp://{address}"), keys);
            servers += 1;
        }
        while let Some(done) = client.poll() {
            let call = open.remove(&done.ticket).expect("one end a ticket");
            let executed = account.executed(call);
            match done.result {
                Ok(reply) => {
                    assert_eq!((reply, executed), (&call.to_le_bytes()[..], 1), "call {call}");
                    replied += 1;
                }
                Err(error) => match error.was_executed() {
                    Executed::Yes => assert_eq!(executed, 1, "call {call}: {error}"),
                    Executed::No => assert_eq!(executed, 0, "call {call}: {error}"),
                    Executed::Unknown => {}
                },
            }
        }
    }
    server.stop();
    let twice = (0..calls).filter(|&call| account.executed(call) > 1).count();
    assert_eq!(twice, 0, "executed twice, of {calls}");
    assert!(replied > calls / 2, "{replied} of {calls} were replied to");
}

/// Calls of a run: 30,000, or what the environment variable `NEBULA_CALLS` says.
fn calls() -> u64 {
    std::env::var("NEBULA_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(30_000)
}

/// Servers that follow each other in a run.
const SERVERS: u64 = 8;
/// A link that does everything.
const HOSTILE: Link = Link { lost: 10, doubled: 20, held_back: 20, changed: 10, replayed: 20 };

#[test]
fn of_many_calls_over_a_hostile_link_none_is_executed_twice() {
    let _watchdog = Watchdog::new("of_many_calls_over_a_hostile_link_none_is_executed_twice");
    many_calls_over(HOSTILE, &Keys::default(), calls(), 1);
}

#[test]
fn of_many_sealed_calls_over_a_hostile_link_none_is_executed_twice() {
    let _watchdog = Watchdog::new("of_many_sealed_calls_over_a_hostile_link_none_is_executed_twice");
    many_calls_over(HOSTILE, &Key::new([7; 32]).into(), calls(), 2);
}
