//! Calls, half of them sealed, over real sockets and a bad link, to a series of servers at one
//! address: none is executed twice, none gets another's bytes, and each end is truthful.

use crate::support::boxed::boxed;
use crate::support::relay::{Link, Passed, Relay};
use crate::support::{lasting_udp_endpoint, server_config};
use nebula::{
    Client, ClientConfig, Endpoint, Executed, Key, Keys, Queueing, Reply, RunningServer, Server, Span, Ticket,
};
use nebula_testing::wait::Watchdog;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Calls of all clients of a plain or sealed run; the environment variable `NEBULA_CALLS` overrides
/// it. The later tests make a million in both.
const CALLS: u64 = 25_000;
/// Clients of a run. While one waits after losses, the others use the cores.
const CLIENTS: usize = 8;
/// Servers of a run, one after another.
const SERVERS: u64 = 8;
/// A link with every fault.
const HOSTILE: Link = Link { lost: 10, doubled: 20, held_back: 20, changed: 10, replayed: 20 };
/// As between machines: with the loopback network's size, far more calls share a datagram and fewer
/// meet a fault.
const DATAGRAM_BYTES: u16 = 1232;
/// `cargo xtask relay` makes many more calls.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// One call in this many has several packets.
const LONG_ONE_IN: u64 = 64;
const LONG_BYTES: usize = 3000;

fn calls() -> u64 {
    std::env::var("NEBULA_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(CALLS)
}

/// The request of a call: its number, repeated in long ones.
fn request(call: u64) -> Vec<u8> {
    let bytes = if call.is_multiple_of(LONG_ONE_IN) { LONG_BYTES } else { 8 };
    call.to_le_bytes().into_iter().cycle().take(bytes).collect()
}

fn number(request: &[u8]) -> usize {
    let first = request.first_chunk().expect("eight bytes");
    usize::try_from(u64::from_le_bytes(*first)).expect("small")
}

/// The executions of each call of a run.
struct Account {
    executed: Box<[AtomicU8]>,
}

impl Account {
    fn serve(self: &Arc<Self>, at: &str, keys: &Keys) -> RunningServer {
        let account = self.clone();
        let config = server_config(|config| {
            (config.inline, config.keys) = (Some(true), keys.clone());
            // A debug-build server that shares its core with a relay keeps no SLO; `udp_hostile`
            // and the simulated network cover refusals.
            config.queueing = Queueing::Unbounded { recv_buffer_bytes: 512 << 10 };
            // As few as fit that buffer, so that a replayed RPC may be older than the server
            // remembers.
            config.retention_rpcs = 1;
        });
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            account.executed[number(request)].fetch_add(1, Ordering::Relaxed);
            reply.write(request);
        };
        Server::bind(at).config(config).serve(boxed(service)).expect("a server")
    }

    fn executed(&self, call: u64) -> u8 {
        self.executed[usize::try_from(call).expect("small")].load(Ordering::Relaxed)
    }
}

/// A client and its calls that have not ended.
struct Caller {
    client: Client,
    open: HashMap<Ticket, u64>,
}

impl Caller {
    /// Begins calls while there is room, and takes ends. Returns how many of both.
    fn turn(&mut self, begun: &mut u64, until: u64, ended: &mut impl FnMut(u64, Result<&[u8], Executed>)) -> u64 {
        let mut moved = 0;
        while *begun < until
            && let Ok(ticket) = self.client.submit(&request(*begun))
        {
            self.open.insert(ticket, *begun);
            (*begun, moved) = (*begun + 1, moved + 1);
        }
        while let Some(done) = self.client.poll() {
            let call = self.open.remove(&done.ticket).expect("one end a ticket");
            ended(call, done.result.map_err(|error| error.was_executed()));
            moved += 1;
        }
        moved
    }
}

/// The ends that the callers of a run saw.
#[derive(Debug, Default)]
struct Told {
    replied: u64,
    unknown: u64,
    /// Calls reported as not executed.
    not_executed: Vec<u64>,
}

fn run(keys: &Keys, seed: u64) {
    let calls = calls();
    let account = Arc::new(Account { executed: (0..calls).map(|_| AtomicU8::new(0)).collect() });
    let at = lasting_udp_endpoint();
    let mut server = account.serve(&at, keys);
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, HOSTILE, seed);
    let mut callers: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let config = ClientConfig::default()
                .keys(keys.clone())
                .slots(512)
                .datagram_bytes(DATAGRAM_BYTES)
                .deadline(Span::from_secs(60));
            let client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
            Caller { client, open: HashMap::new() }
        })
        .collect();
    let (mut told, mut begun, mut servers) = (Told::default(), 0, 1);
    let mut ended = |call, result: Result<&[u8], Executed>| {
        let executed = account.executed(call);
        match result {
            Ok(reply) => {
                assert!(reply == request(call) && executed == 1, "call {call}: executed {executed} times");
                told.replied += 1;
            }
            Err(Executed::Yes) => assert_eq!(executed, 1, "call {call}"),
            Err(Executed::No) => told.not_executed.push(call),
            Err(Executed::Unknown) => told.unknown += 1,
        }
    };
    while begun < calls || callers.iter().any(|caller| !caller.open.is_empty()) {
        if begun >= servers * calls / SERVERS {
            server.stop();
            server = account.serve(&at, keys);
            relay.next_server();
            servers += 1;
        }
        let until = calls.min(servers * calls / SERVERS);
        let moved: u64 = callers.iter_mut().map(|caller| caller.turn(&mut begun, until, &mut ended)).sum();
        if moved == 0 {
            std::thread::yield_now();
        }
    }
    server.stop();
    check(&account, calls, &told, relay.end());
}

/// Checks all executions, long after most calls ended.
#[expect(clippy::print_stdout, reason = "`cargo xtask relay` shows what the link did")]
fn check(account: &Account, calls: u64, told: &Told, passed: Passed) {
    let twice = (0..calls).filter(|&call| account.executed(call) > 1).count();
    assert_eq!(twice, 0, "executed twice, of {calls}");
    let refused = told.not_executed.iter().filter(|&&call| account.executed(call) > 0).count();
    assert_eq!(refused, 0, "executed although refused, of {}", told.not_executed.len());
    println!(
        "{calls} calls: {} replies, {} of unknown fate, {} refused; {passed:?}",
        told.replied,
        told.unknown,
        told.not_executed.len()
    );
    assert!(told.replied > 0, "none of {calls} was replied to");
    let Passed { datagrams: _, lost, doubled, held_back, changed, replayed: _, replayed_later, replayed_elsewhere } =
        passed;
    let met = [lost, doubled, held_back, changed, replayed_later, replayed_elsewhere];
    assert!(met.iter().all(|&times| times > 0), "the link did everything: {passed:?}");
}

#[test]
fn of_many_calls_over_a_hostile_link_none_is_executed_twice() {
    let _watchdog = Watchdog::within(TIME_MAX, "of_many_calls_over_a_hostile_link_none_is_executed_twice");
    run(&Keys::default(), 1);
}

#[test]
fn of_many_sealed_calls_over_a_hostile_link_none_is_executed_twice() {
    let _watchdog = Watchdog::within(TIME_MAX, "of_many_sealed_calls_over_a_hostile_link_none_is_executed_twice");
    run(&Key::new([7; 32]).into(), 2);
}
