//! More load than the server can serve: each RPC is answered or refused once, and no queue exceeds
//! its bound.

use crate::support::log_file::LogFile;
use crate::support::{PATIENCE, endpoint, open_one, server_config, wait_until_clean};
use nebula::{
    CallError, Client, ClientConfig, Policy, Queueing, Reply, Server, ServerConfig, Span, Status, SubmitError,
};
use nebula_nic::replay_text;
use nebula_testing::wait::{Limit, Watchdog, spin, wait_until};
use std::time::Duration;

const SERVICE: Duration = Duration::from_micros(20);
const CLIENTS: u64 = 3;
/// Ends that each client sees before its burst is over.
const ENDS_MIN: u64 = 1000;

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    sent: u64,
    replied: u64,
    nacked: u64,
}

/// Keeps a worker busy for the service time, then echoes.
fn slow_echo(request: &[u8], reply: &mut Reply<'_>) {
    spin(SERVICE);
    reply.write(request);
}

/// Which tickets of a client have ended.
struct Tickets {
    client: Client,
    first: Option<u64>,
    has_ended: Vec<bool>,
    ends: Ends,
}

impl Tickets {
    fn send(&mut self, bytes: usize) -> bool {
        let mut request = vec![0xC3; bytes];
        request[..8].copy_from_slice(&self.ends.sent.to_le_bytes());
        match self.client.submit(&request) {
            Ok(ticket) => {
                let first = *self.first.get_or_insert(ticket.0);
                assert_eq!(ticket.0 - first, self.ends.sent, "tickets count up");
                self.has_ended.push(false);
                self.ends.sent += 1;
                true
            }
            Err(error) => {
                assert_eq!(error, SubmitError::Full);
                false
            }
        }
    }

    fn take(&mut self) -> bool {
        let Some(done) = self.client.poll() else { return false };
        let number = done.ticket.0 - self.first.expect("something was sent");
        match done.result {
            Ok(reply) => {
                assert_eq!(reply[..8], number.to_le_bytes(), "another's reply");
                self.ends.replied += 1;
            }
            Err(CallError::Nack { .. }) => self.ends.nacked += 1,
            Err(error) => panic!("{error}"),
        }
        let has_ended = &mut self.has_ended[usize::try_from(number).expect("an index")];
        assert!(!std::mem::replace(has_ended, true), "RPC {number} ended twice");
        true
    }
}

impl Ends {
    fn are_enough(self) -> bool {
        self.replied.min(self.nacked) > ENDS_MIN
    }
}

/// Sends for as long as there is room, far more than may wait, and then waits for the last end.
fn burst(endpoint: &str, bytes: usize) -> Ends {
    let config = ClientConfig::default().reply_bytes_max(2048);
    let client = Client::connect_with(endpoint, config).expect("a connection");
    let mut tickets = Tickets { client, first: None, has_ended: Vec::new(), ends: Ends::default() };
    let limit = Limit::new("an overload");
    while !tickets.ends.are_enough() {
        limit.check();
        if !tickets.send(bytes) && !tickets.take() {
            std::thread::yield_now();
        }
    }
    while tickets.client.outstanding() > 0 {
        wait_until("the end of the last RPCs", || tickets.take().then_some(()));
    }
    assert!(tickets.has_ended.iter().all(|&has_ended| has_ended), "RPCs were lost");
    tickets.ends
}

/// Overloads the workers from several clients at once.
fn overload(name: &str, bytes: usize, change: impl FnOnce(&mut ServerConfig)) -> (Ends, Status, u64) {
    let endpoint = endpoint(&format!("overload-{name}"));
    let config = server_config(|config| {
        (config.slo, config.service_mean) = (Span::from_us(200), Span::from_us(20));
        config.reassembly_timeout = Some(PATIENCE.into());
        change(config);
    });
    let server = Server::bind(&endpoint).config(config).serve(slow_echo).expect("a server");
    let bound =
        wait_until("the first counters", || Some(server.status().read().queue_bound).filter(|&bound| bound > 0));
    let ends: Vec<Ends> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| burst(&endpoint, bytes))).collect();
        clients.into_iter().map(|client| client.join().expect("a burst")).collect()
    });
    let sum = |of: fn(&Ends) -> u64| ends.iter().map(of).sum();
    let all = Ends { sent: sum(|ends| ends.sent), replied: sum(|ends| ends.replied), nacked: sum(|ends| ends.nacked) };
    let status = wait_until_clean(server.status(), 0);
    server.stop();
    (all, status, bound)
}

fn assert_accounted(name: &str, ends: Ends, status: Status) {
    assert_eq!(ends.replied + ends.nacked, ends.sent, "{name}: {ends:?}");
    let refused = status.nacked() + status.abandoned;
    assert_eq!((ends.replied, ends.nacked), (status.freed, refused), "{name}: {status:?}");
    assert!(status.nacked() > status.abandoned, "{name}: no overload: {status:?}");
    assert_eq!((status.violations, status.dropped), (0, 0), "{name}");
    assert!(status.slots_used_max <= status.slots, "{name}: {status:?}");
}

#[test]
fn under_overload_every_rpc_is_answered_or_refused_and_queues_keep_their_bound() {
    let _watchdog = Watchdog::new("overload");
    for (workers, inline, policy) in [
        (1, true, Policy::Jbsq(2)),
        (1, false, Policy::Jbsq(2)),
        (2, false, Policy::Jbsq(2)),
        (2, false, Policy::SingleQueue),
        (2, false, Policy::RoundRobin),
        (1, false, Policy::McsLock),
        (2, false, Policy::McsLock),
        (2, false, Policy::WorkStealing),
    ] {
        let name = format!("{}-{workers}-{inline}", policy.to_string().replace(':', "-"));
        let (ends, status, bound) = overload(&name, 64, |config| {
            (config.workers, config.inline, config.policy) = (workers, Some(inline), policy);
        });
        assert_accounted(&name, ends, status);
        // Each client has room for one RPC, and one more place is kept for light sources.
        let bound = bound.max((CLIENTS + 1) * if policy == Policy::RoundRobin { u64::from(workers) } else { 1 });
        // With a queue per core, each has its share of the bound, rounded up.
        assert!(status.queue_depth_max <= bound.next_multiple_of(u64::from(workers)), "{name}: {bound}, {status:?}");
        assert_eq!(ends.nacked, status.nacked_queue_bound, "{name}: the bound came before the buffer's end");
    }
}

/// Its one worker is slow, and its policy queues what it could serve at once.
fn slow(change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    server_config(|config| {
        (config.slo, config.service_mean) = (Span::from_us(100), Span::from_ms(1));
        (config.inline, config.later_max) = (Some(true), Some(1));
        change(config);
    })
}

#[test]
fn one_rpc_of_each_client_waits_however_slow_the_service() {
    let log = LogFile::new("one-each");
    let at = endpoint("one-each");
    let (server, mut worker) = open_one(&at, slow(|config| config.decision_log = Some(log.0.clone())));
    let mut clients: Vec<_> = (0..4).map(|_| Client::connect(&at).expect("a connection")).collect();
    for round in 0..64_u32 {
        for client in &mut clients {
            client.submit(&round.to_le_bytes()).expect("room");
        }
        for client in &mut clients {
            wait_until("an answer", || {
                worker.turn(&slow_echo);
                client.poll().map(|done| assert_eq!(done.result, Ok(&round.to_le_bytes()[..])))
            });
        }
    }
    drop(worker);
    assert_eq!(server.stop().nacked(), 0);
    let text = log.text();
    assert!(text.contains("pace floor bound=5 -> bound=5"), "four clients and the room kept for light ones");
    replay_text(&text).expect("the same decisions");
}

#[test]
fn rpcs_of_several_packets_pass_the_bound_only_as_far_as_they_were_under_way() {
    let _watchdog = Watchdog::new("overload in several packets");
    for inline in [true, false] {
        let name = format!("packets-{inline}");
        let (ends, status, bound) = overload(&name, 2000, |config| config.inline = Some(inline));
        assert_accounted(&name, ends, status);
        // Each client has at most one RPC in the middle, since a ring is read in order.
        assert!(status.queue_depth_max <= bound.max(CLIENTS + 1) + CLIENTS, "{name}: {bound}, {status:?}");
    }
}

#[test]
fn without_a_bound_the_buffer_is_what_refuses() {
    let _watchdog = Watchdog::new("without a bound");
    let (ends, status, _) = overload("unbounded", 2000, |config| {
        config.rpc_bytes_max = 2048;
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 64 * 1024 };
    });
    assert_accounted("unbounded", ends, status);
    assert_eq!(status.nacked(), status.nacked_buffer_full);
    // An RPC takes 32 slots, so fewer are free when one is refused.
    assert!(status.slots_used_max > status.slots - 32, "{status:?}");
}

const TURNS: usize = 1_000;
const HONEST_TURNS: usize = 4;
/// A pause of this process lengthens RPCs, after which the server refuses everybody for a while.
const TRIES: usize = 30;

#[derive(Debug)]
struct Shares {
    asked: u64,
    replied: u64,
    asked_others: u64,
    replied_others: u64,
}

impl Shares {
    /// How many refusals there are depends on this machine's RPC times; which client gets them does
    /// not.
    fn is_fair(&self) -> bool {
        let Self { asked, replied, asked_others, replied_others } = *self;
        replied_others < asked_others && replied * asked_others > 2 * replied_others * asked
    }
}

#[test]
fn an_honest_client_beside_clients_that_keep_their_rings_full_is_served() {
    let _watchdog = Watchdog::new("an honest client beside heavy ones");
    for heavy in [1, 8] {
        let mut unfair = Vec::new();
        loop {
            let shares = honest_beside(heavy);
            if shares.is_fair() {
                break;
            }
            unfair.push(shares);
            assert!(unfair.len() < TRIES, "{heavy} heavy ones: {unfair:?}");
        }
    }
}

fn honest_beside(heavy: usize) -> Shares {
    let endpoint = endpoint(&format!("overload-honest-{heavy}"));
    let config = server_config(|config| {
        (config.inline, config.slo, config.service_mean) = (Some(true), Span::from_us(200), Span::from_us(2));
    });
    let (server, mut worker) = open_one(&endpoint, config);
    let mut heavy: Vec<_> = (0..heavy).map(|_| Client::connect(&endpoint).expect("a connection")).collect();
    let mut honest = Client::connect(&endpoint).expect("a connection");
    let mut shares = Shares { asked: 0, replied: 0, asked_others: 0, replied_others: 0 };
    for turn in 0..TURNS {
        for client in &mut heavy {
            while client.submit(b"one of many").is_ok() {}
        }
        if turn % HONEST_TURNS == 0 {
            shares.asked += u64::from(honest.submit(b"one").is_ok());
        }
        worker.turn(&|request: &[u8], reply: &mut Reply<'_>| {
            spin(Duration::from_micros(2));
            reply.write(request);
        });
        while let Some(done) = honest.poll() {
            shares.replied += u64::from(done.result.is_ok());
        }
        for client in &mut heavy {
            while let Some(done) = client.poll() {
                shares.asked_others += 1;
                shares.replied_others += u64::from(done.result.is_ok());
            }
        }
    }
    server.stop();
    shares
}
