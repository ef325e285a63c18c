//! Operations on a real store from clients in separate processes, each checked against a model.
//! `NEBULA_OPERATIONS=1000000` makes it a million.

use crate::support::draw::Draw;
use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::{endpoint, server_config, wait_until_clean};
use nebula::{
    CallError, Client, ClientConfig, Description, Policy, Server, ServerConfig, Service, Stage, SubmitError, Ticket,
};
use nebula_kvs::protocol::{Reply, Request, Status};
use nebula_kvs::{Mode, Store, StoreConfig, ValueSink};
use nebula_sys::sync::AtomicU64;
use nebula_testing::wait::{Watchdog, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::process::exit;

const CLIENTS: usize = 2;
/// Keys that only this client uses.
const KEYS: usize = 2000;
const DEPTH: u32 = 64;
const ROUND: u64 = 1000;
/// Operations of all servers and clients; the environment variable `NEBULA_OPERATIONS` overrides
/// it.
const OPERATIONS: u64 = 100_000;
/// Longest value. It exceeds a packet, so some requests and replies take two.
const VALUE_BYTES_MAX: usize = 800;

struct Kv(Store);

/// Writes a value behind the reply's header, straight from the log.
struct IntoReply<'r, 'a> {
    reply: &'r mut nebula::Reply<'a>,
    bytes: usize,
}

impl ValueSink for IntoReply<'_, '_> {
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.reply.clear();
        self.reply.write_words_at(8, value, bytes);
        self.bytes = bytes;
    }
}

impl Kv {
    fn get(&self, key: &[u8], reply: &mut nebula::Reply<'_>) -> Status {
        let mut sink = IntoReply { reply, bytes: 0 };
        if !self.0.get(Store::hash(key), key, &mut sink) {
            sink.reply.clear();
            return Status::NotFound;
        }
        let bytes = u32::try_from(sink.bytes).expect("a value's length");
        sink.reply.write_at(0, &Reply::header(Status::Ok, bytes));
        Status::Ok
    }
}

impl Service for Kv {
    fn serve(&self, request: &[u8], reply: &mut nebula::Reply<'_>) {
        let status = match Request::decode(request) {
            Ok(Request::Get { key }) => match self.get(key, reply) {
                Status::Ok => return,
                status => status,
            },
            Ok(Request::Set { key, value }) => {
                if self.0.set(Store::hash(key), key, value).is_ok() {
                    Status::Ok
                } else {
                    Status::Full
                }
            }
            Ok(Request::Delete { key }) if self.0.delete(Store::hash(key), key) => Status::Ok,
            Ok(Request::Delete { .. }) => Status::NotFound,
            Err(_) => Status::Malformed,
        };
        reply.write(&Reply::header(status, 0));
    }

    fn describe(&self) -> Description {
        Description::default().prefetches(true)
    }

    fn prefetch(&self, request: &[u8], stage: Stage) {
        let Ok(request) = Request::decode(request) else { return };
        match stage {
            Stage::Arrived => self.0.prefetch_bucket(Store::hash(request.key())),
            Stage::Next => self.0.prefetch_entry(Store::hash(request.key()), 400),
        }
    }
}

fn store() -> Kv {
    let items = (CLIENTS * KEYS) as u64;
    // This mode evicts no item, so the log must hold every value that outgrew its place.
    let config = StoreConfig { mode: Mode::Store, log_bytes: 512 << 20, ..StoreConfig::for_items(items, 16, 400) };
    Kv(Store::try_new(config).expect("memory for the store"))
}

/// An operation, kept until it is answered so that a refused one can be repeated.
#[derive(Clone, Debug)]
enum Op {
    Get,
    Set(Vec<u8>),
    Delete,
}

impl Op {
    fn draw(draw: &mut Draw) -> Self {
        match draw.below(10) {
            0..5 => Self::Get,
            5..9 => {
                let bytes = draw.below(VALUE_BYTES_MAX + 1);
                Self::Set(draw.bytes(bytes))
            }
            _ => Self::Delete,
        }
    }

    fn encode(&self, key: &[u8], buffer: &mut [u8]) -> usize {
        let request = match self {
            Self::Get => Request::Get { key },
            Self::Set(value) => Request::Set { key, value },
            Self::Delete => Request::Delete { key },
        };
        request.encode_into(buffer).expect("room for the longest request")
    }
}

/// The model of one client's keys, and its outstanding operations.
struct Checker {
    client: Client,
    owner: u64,
    model: BTreeMap<usize, Vec<u8>>,
    outstanding: BTreeMap<Ticket, (usize, Op)>,
    /// Operations on one key never overlap: two workers might serve them in either order.
    busy: BTreeSet<usize>,
    to_send: Vec<(usize, Op)>,
    nacked: u64,
}

impl Checker {
    fn key(&self, number: usize) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.owner.to_le_bytes());
        key[8..].copy_from_slice(&(number as u64).to_le_bytes());
        key
    }

    /// Sends `op`; without room it stays to be sent.
    fn submit(&mut self, number: usize, op: Op) {
        let mut buffer = [0; 8 + 16 + VALUE_BYTES_MAX];
        let key = self.key(number);
        let bytes = op.encode(&key, &mut buffer);
        match self.client.submit_keyed(&buffer[..bytes], u32::try_from(number).expect("few keys")) {
            Ok(ticket) => {
                assert!(self.outstanding.insert(ticket, (number, op)).is_none(), "a ticket came twice");
            }
            Err(error) => {
                assert_eq!(error, SubmitError::Full);
                self.to_send.push((number, op));
            }
        }
    }

    /// Takes one answer and checks it against the model; `false` if there is none.
    fn take(&mut self) -> bool {
        let Some(done) = self.client.poll() else { return false };
        let (number, op) = self.outstanding.remove(&done.ticket).expect("each ticket ends once");
        match done.result {
            Ok(bytes) => {
                let expected = expect(&mut self.model, number, op);
                let Reply { status, value } = Reply::decode(bytes).expect("a reply of the protocol");
                assert!((status, value) == (expected.0, &expected.1[..]), "key {number}: {status:?}");
                self.busy.remove(&number);
            }
            Err(CallError::Nack { .. }) => {
                self.nacked += 1;
                self.to_send.push((number, op));
            }
            Err(error) => panic!("{error}"),
        }
        true
    }

    fn run(&mut self, ops: u64, draw: &mut Draw) {
        let mut left = ops;
        while left > 0 || !self.busy.is_empty() {
            if self.client.outstanding() < DEPTH
                && let Some((number, op)) = self.next_op(&mut left, draw)
            {
                self.submit(number, op);
            } else {
                wait_until("an answer", || self.take().then_some(()));
            }
            while self.take() {}
        }
    }

    fn next_op(&mut self, left: &mut u64, draw: &mut Draw) -> Option<(usize, Op)> {
        if let Some(next) = self.to_send.pop() {
            return Some(next);
        }
        let number = draw.below(KEYS);
        (*left > 0 && self.busy.insert(number)).then(|| {
            *left -= 1;
            (number, Op::draw(draw))
        })
    }

    fn check_all(&mut self, draw: &mut Draw) {
        self.busy.extend(0..KEYS);
        self.to_send.extend((0..KEYS).map(|number| (number, Op::Get)));
        self.run(0, draw);
    }
}

/// The answer that the store must give; updates the model.
fn expect(model: &mut BTreeMap<usize, Vec<u8>>, number: usize, op: Op) -> (Status, Vec<u8>) {
    match op {
        Op::Get => model.get(&number).map_or((Status::NotFound, Vec::new()), |value| (Status::Ok, value.clone())),
        Op::Set(value) => {
            model.insert(number, value);
            (Status::Ok, Vec::new())
        }
        Op::Delete if model.remove(&number).is_some() => (Status::Ok, Vec::new()),
        Op::Delete => (Status::NotFound, Vec::new()),
    }
}

/// A client process. Its words: endpoint, client number, operations at most.
fn play_client(words: &[String]) -> ! {
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    let (owner, ops) = (number(1), number(2));
    let config = ClientConfig::default().reply_bytes_max(8 + 800);
    let client = Client::connect_with(&words[0], config).expect("a connection");
    let (model, outstanding, busy, to_send) = Default::default();
    let mut checker = Checker { client, owner, model, outstanding, busy, to_send, nacked: 0 };
    let mut draw = Draw::new(owner);
    let mut done = 0;
    while done < ops {
        checker.run(ROUND, &mut draw);
        done += ROUND;
    }
    checker.check_all(&mut draw);
    assert_eq!((checker.client.outstanding(), checker.outstanding.len()), (0, 0));
    say(&format!("{done} {}", checker.nacked));
    wait_for_end();
    exit(0);
}

fn operations() -> u64 {
    std::env::var("NEBULA_OPERATIONS").ok().and_then(|operations| operations.parse().ok()).unwrap_or(OPERATIONS)
}

fn serve_and_check(test: &'static str, name: &str, ops: u64, change: impl FnOnce(&mut ServerConfig)) {
    let endpoint = endpoint(name);
    let server = Server::bind(&endpoint).config(server_config(change)).serve(store()).expect("a server");
    let each = (ops / CLIENTS as u64).to_string();
    let mut clients: Vec<_> =
        (0..CLIENTS).map(|owner| Process::spawn(test, &[&endpoint, &owner.to_string(), &each])).collect();
    let (mut done, mut nacked) = (0, 0);
    for client in &mut clients {
        let said = client.line().expect("a client without a wrong answer");
        let counts = said.split_once(' ').expect("operations and refusals");
        done += counts.0.parse::<u64>().expect("a count");
        nacked += counts.1.parse::<u64>().expect("a count");
        assert!(client.end().success());
    }
    let status = wait_until_clean(server.status(), 0);
    assert_eq!((status.violations, status.dropped), (0, 0), "{name}");
    assert_eq!(
        (status.freed, status.nacked() + status.abandoned),
        (done + (CLIENTS * KEYS) as u64, nacked),
        "{name}: {status:?}"
    );
    server.stop();
}

#[test]
fn operations_on_an_inline_server_match_the_model() {
    const TEST: &str = "end_to_end::operations_on_an_inline_server_match_the_model";
    if let Some(words) = role() {
        play_client(&words);
    }
    let _watchdog = Watchdog::new(TEST);
    serve_and_check(TEST, "kv-inline", operations() * 3 / 10, |config| config.inline = Some(true));
}

#[test]
fn operations_under_six_policies_match_the_model() {
    const TEST: &str = "end_to_end::operations_under_six_policies_match_the_model";
    if let Some(words) = role() {
        play_client(&words);
    }
    let _watchdog = Watchdog::new(TEST);
    let policies =
        [Policy::Rss, Policy::RoundRobin, Policy::Random, Policy::KeyHash, Policy::SingleQueue, Policy::Jbsq(2)];
    for policy in policies {
        let name = format!("kv-{}", policy.to_string().replace(':', "-"));
        serve_and_check(TEST, &name, operations() * 7 / 60, |config| (config.workers, config.policy) = (2, policy));
    }
}
