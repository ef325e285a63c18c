//! Checks `CallError::was_executed` against actual executions, for clients of servers that are
//! attacked, overloaded and ended.

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::patient_client;
use crate::support::raw::{RawRing, Slot};
use crate::support::udp_raw::{Packet, RawClient, Welcome};
use crate::support::{PATIENCE, endpoint, lasting_udp_endpoint};
use nebula::{CallError, Client, Executed, Options, Reply, RunningServer, Server, ServerConfig, Span, SubmitError};
use nebula_testing::wait::{RaisedAtTheEnd, Watchdog, spin};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// The first bytes of an honest client's requests.
const HONEST: &[u8; 8] = b"honest: ";
/// Servers, one after another.
const SERVERS: usize = 4;
const SERVICE: Duration = Duration::from_micros(3);
const REPLY_BYTES_MAX: usize = 600;

struct Account {
    executed: Box<[AtomicU8]>,
}

impl Account {
    fn request(call: usize) -> Vec<u8> {
        [&HONEST[..], &call.to_le_bytes()].concat()
    }

    fn serve(self: &Arc<Self>, endpoint: &str) -> RunningServer {
        let config = ServerConfig::default()
            .mtu_bytes(crate::support::SHORT_SLOTS)
            .inline(true)
            .slo(Span::from_us(300))
            .service_mean(Span::from_us(3))
            .rpc_bytes_max(4096)
            .reply_bytes_max(600);
        let account = self.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            let call = request.strip_prefix(HONEST).and_then(|call| Some(usize::from_le_bytes(call.try_into().ok()?)));
            if let Some(executed) = call.and_then(|call| account.executed.get(call)) {
                executed.fetch_add(1, Ordering::AcqRel);
            }
            spin(SERVICE);
            // One in 16 requests a reply that is too long: it was executed, and ends with a fault.
            let is_too_long = call.is_some_and(|call| call % 16 == 0);
            reply.write(if is_too_long { &[7; 2 * REPLY_BYTES_MAX] } else { request });
        };
        Server::bind(endpoint).config(config).serve(boxed(service)).expect("a server")
    }

    fn executed(&self, call: usize) -> u8 {
        self.executed[call].load(Ordering::Acquire)
    }
}

/// How many calls had each kind of end, by what `was_executed` said.
type Ends = BTreeMap<&'static str, usize>;

fn name(error: &CallError) -> &'static str {
    match error {
        CallError::Nack { .. } => "nacked",
        CallError::Fault(_) => "fault",
        CallError::Expired => "expired",
        CallError::Cancelled => "cancelled",
        CallError::ServerGone => "gone",
        CallError::TimedOut => "timed out",
        CallError::Stale => "stale",
        _ => "other",
    }
}

struct Caller {
    account: Arc<Account>,
    /// For each ended call, what `was_executed` said.
    told: Vec<Option<Executed>>,
    open: BTreeMap<nebula::Ticket, usize>,
    ends: Ends,
    draw: Draw,
}

impl Caller {
    /// Begins calls up to `until`; false if the server is gone.
    fn call(&mut self, client: &mut Client, begun: &mut usize, until: usize) -> bool {
        while *begun < until {
            let options = if self.draw.once_in(4) {
                Options::default().deadline(Span::from_us(20 + self.draw.below(60) as u64))
            } else {
                Options::default()
            };
            match client.submit_with(&Account::request(*begun), options) {
                Ok(ticket) => {
                    assert!(self.open.insert(ticket, *begun).is_none(), "a ticket twice");
                    *begun += 1;
                    if self.draw.once_in(8) {
                        client.cancel(ticket);
                    }
                }
                Err(SubmitError::ServerGone) => return false,
                Err(_) => self.take(client),
            }
        }
        true
    }

    fn take(&mut self, client: &mut Client) {
        let Some(done) = client.poll() else { return std::thread::yield_now() };
        let call = self.open.remove(&done.ticket).expect("one end a ticket");
        let executed = self.account.executed(call);
        let (end, told) = match &done.result {
            Ok(reply) => {
                assert_eq!(*reply, Account::request(call));
                ("replied", Executed::Yes)
            }
            Err(error) => (name(error), error.was_executed()),
        };
        // An executed call shows here already; one that was not executed is checked at the end of
        // the test.
        assert!(told != Executed::Yes || executed == 1, "call {call} {end}: executed {executed} times");
        self.told[call] = Some(told);
        *self.ends.entry(end).or_default() += 1;
    }

    fn check(self) -> Ends {
        for (call, told) in self.told.iter().enumerate() {
            let executed = self.account.executed(call);
            let is_true = match told {
                Some(Executed::Yes) => executed == 1,
                Some(Executed::No) => executed == 0,
                Some(Executed::Unknown) => executed <= 1,
                None => false,
            };
            assert!(is_true, "call {call}: executed {executed} times, and said to be {told:?}");
        }
        self.ends
    }
}

/// Calls one server after another during `attack`, and compares `was_executed` with the executions.
fn held_to_the_truth(
    test: &'static str,
    at: &str,
    (calls, slots): (usize, u32),
    attack: impl Fn(&str, &AtomicBool) + Send + Sync,
) -> Ends {
    let _watchdog = Watchdog::new(test);
    let account = Arc::new(Account { executed: (0..calls).map(|_| AtomicU8::new(0)).collect() });
    let mut caller = Caller {
        account: account.clone(),
        told: vec![None; calls],
        open: BTreeMap::new(),
        ends: Ends::new(),
        draw: Draw::new(5),
    };
    let (mut begun, mut endpoint) = (0, at.to_owned());
    for server in 1..=SERVERS {
        let running = account.serve(&endpoint);
        endpoint = running.endpoint().to_string();
        let is_over = AtomicBool::new(false);
        let config = patient_client().slots(slots);
        let mut client = Client::connect_with(&endpoint, config).expect("a client");
        std::thread::scope(|scope| {
            let _end = RaisedAtTheEnd(&is_over);
            scope.spawn(|| attack(&endpoint, &is_over));
            caller.call(&mut client, &mut begun, calls * server / SERVERS);
        });
        // Stops it with RPCs outstanding.
        running.stop();
        // Over UDP the next server reports that the old one is gone; without it, the client sees
        // only silence.
        let next = account.serve(&endpoint);
        while !caller.open.is_empty() {
            caller.take(&mut client);
        }
        next.stop();
    }
    caller.check()
}

fn assert_all(ends: &Ends, all: &[&str]) {
    for end in all {
        assert!(ends.contains_key(end), "no call ended as {end}: {ends:?}");
    }
}

#[test]
fn over_shared_memory_what_is_said_of_an_rpc_is_true_beside_clients_that_scribble() {
    let attack = |endpoint: &str, is_over: &AtomicBool| {
        let mut draw = Draw::new(3);
        while !is_over.load(Ordering::Acquire) {
            let ring = RawRing::connect(endpoint, 16);
            for position in 0..ring.slots * 2 {
                let bytes = u32::try_from(draw.below(700)).expect("small");
                ring.put(
                    position,
                    Slot { span: u32::try_from(draw.below(4)).expect("small"), ..Slot::request(bytes, 1) },
                );
            }
            std::thread::yield_now();
        }
    };
    let test = "over_shared_memory_what_is_said_of_an_rpc_is_true_beside_clients_that_scribble";
    let ends = held_to_the_truth(test, &endpoint("ends"), (8_000, 256), attack);
    assert_all(&ends, &["replied", "fault", "nacked", "cancelled"]);
}

#[test]
fn over_udp_what_is_said_of_an_rpc_is_true_beside_a_guest_that_floods() {
    let attack = |endpoint: &str, is_over: &AtomicBool| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(endpoint.strip_prefix("udp://").expect("an endpoint")).expect("an address");
        socket.set_read_timeout(Some(PATIENCE)).expect("an option");
        let mut own = RawClient::new(socket.local_addr().expect("bound"), None);
        let (mut draw, mut tid, mut buffer) = (Draw::new(9), 0, [0; 2048]);
        socket.send(&own.hello(1)).expect("sent");
        let bytes = socket.recv(&mut buffer).expect("a welcome");
        let welcome = Welcome::read(&buffer[..bytes], None);
        own.enter(&welcome);
        // Reads answers between two datagrams, or for a moment.
        socket.set_read_timeout(Some(Duration::from_millis(2))).expect("an option");
        while !is_over.load(Ordering::Acquire) {
            let mut requests = Vec::new();
            for _ in 0..12 {
                tid += 1;
                requests.extend(Packet::whole(tid, welcome.time_ns + u64::from(tid), &[1; 40]).bytes());
            }
            let mut datagram = own.frame(&requests);
            if draw.once_in(3) {
                let at = draw.below(datagram.len());
                datagram[at] ^= 1 << draw.below(8);
            }
            let _ = socket.send(&datagram);
            let _ = socket.recv(&mut buffer);
        }
    };
    let test = "over_udp_what_is_said_of_an_rpc_is_true_beside_a_guest_that_floods";
    let ends = held_to_the_truth(test, &lasting_udp_endpoint(), (800, 64), attack);
    assert_all(&ends, &["replied", "fault", "cancelled"]);
}
