//! The runtime decides nothing: the log of a run replayed through a fresh back end gives the same
//! log.

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::log_file::LogFile;
use crate::support::raw::{NACK, RawRing, Slot};
use crate::support::{endpoint, open_one, server_config, wait_until_clean};
use nebula::{CallError, Client, ClientConfig, Policy, Reply, ScrubMode, Server, ServerConfig, Span, Status};
use nebula_nic::decision::{Beside, read_text, replay_through};
use nebula_nic::{
    Availability, Backend, BackendConfig, CentralDispatch, Input, LogLine, ReplayError, WithState, replay_text,
};
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

const RPCS: usize = 3_000;
const CLIENTS: u64 = 3;
/// The service time, longer than the configuration says.
const SERVICE: Duration = Duration::from_micros(10);

/// Runs a server through every event of its NIC; its log and last counters.
fn run(name: &str, change: impl FnOnce(&mut ServerConfig)) -> (String, Status) {
    let file = LogFile::new(&format!("parity-{name}"));
    let endpoint = endpoint(&format!("parity-{name}"));
    let config = server_config(|config| {
        config.decision_log = Some(file.0.clone());
        (config.mtu_bytes, config.rpc_bytes_max) = (128, 2048);
        (config.slo, config.service_mean) = (Span::from_us(50), Span::from_us(2));
        change(config);
    });
    let server = Server::bind(&endpoint).config(config).serve(boxed(|request: &[u8], reply: &mut Reply| {
        spin(SERVICE / 2);
        reply.yield_if_due();
        spin(SERVICE / 2);
        reply.write(request);
    }));
    let server = server.expect("a server");
    let half = half_an_rpc(&endpoint);
    // It arrives before the others fill the queue.
    wait_until("the half's arrival", || (server.status().read().packets > 0).then_some(()));
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let endpoint = &endpoint;
            scope.spawn(move || load(endpoint, seed));
        }
    });
    // This RPC's time ran out during the others; the next one's does not, since its client leaves.
    wait_until("the half's end", || half.answer(0).map(|answer| assert_eq!(answer.0, NACK)));
    drop(half);
    drop(half_an_rpc(&endpoint));
    // This client keeps the page open, so the test can read the last counters after the server's
    // end.
    let looker = Client::connect(&endpoint).expect("a looker-on");
    wait_until_clean(server.status(), 1);
    server.stop();
    (file.text(), looker.status().expect("counters").read())
}

/// A client that sends only the first of two packets.
fn half_an_rpc(endpoint: &str) -> RawRing {
    let ring = RawRing::connect(endpoint, 4);
    ring.put(0, Slot::request(200, 2));
    ring
}

/// RPCs of all sizes, as many as the ring holds; leaves the last ones behind.
fn load(endpoint: &str, seed: u64) {
    let config = ClientConfig::default().slots(512).reply_bytes_max(128);
    let mut client = Client::connect_with(endpoint, config).expect("a connection");
    let mut draw = Draw::new(seed);
    let mut sent = 0;
    while sent < RPCS {
        let bytes = if draw.once_in(4) { draw.below(2049) } else { draw.below(129) };
        let key = u32::try_from(draw.below(1 << 30)).expect("masked");
        match client.submit_keyed(&draw.bytes(bytes), key) {
            Ok(_) => sent += 1,
            Err(_) => take_ends(&mut client),
        }
    }
}

fn take_ends(client: &mut Client) {
    if client.poll().is_none() {
        return std::thread::yield_now();
    }
    while let Some(done) = client.poll() {
        assert!(matches!(done.result, Ok(_) | Err(CallError::Nack { .. } | CallError::Fault(_))), "{done:?}");
    }
}

fn count_of(log: &str, word: &str) -> u64 {
    log.matches(word).count() as u64
}

/// Replays the log and checks it against the counters, which are kept separately.
fn assert_same(name: &str, log: &str, status: Status) {
    let lines = replay_text(log).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(lines > RPCS, "{name}: {lines} lines");
    assert_eq!(lines, log.lines().count() - 1, "{name}: every line but the configuration's");
    assert_eq!(count_of(log, " packet request "), status.packets, "{name}");
    assert_eq!(count_of(log, " complete"), status.completed, "{name}");
    assert_eq!(count_of(log, "dispatch core="), status.dispatched, "{name}");
    assert_eq!(count_of(log, "-> freed"), status.freed, "{name}");
    assert_eq!(count_of(log, "-> nack "), status.nacked(), "{name}");
    assert_eq!(count_of(log, "abandoned "), status.abandoned, "{name}");
    assert!(status.abandoned > 0, "{name}: a run in which little happened: {status:?}");
    for input in ["timeout ->", "peer-gone ", " more\n"] {
        assert!(log.contains(input), "{name}: no {input:?} in the log");
    }
}

#[test]
fn the_log_of_an_inline_run_replays() {
    let _watchdog = Watchdog::new("the log of an inline run");
    for policy in [Policy::Jbsq(2), Policy::SingleQueue, Policy::Jbsq(16), Policy::Rss] {
        let name = format!("inline-{}", policy.to_string().replace(':', "-"));
        let (log, status) = run(&name, |config| (config.inline, config.policy) = (Some(true), policy));
        assert_same(&name, &log, status);
        assert!(status.nacked() > 0, "{name}: {status:?}");
    }
}

#[test]
fn the_log_of_a_run_replays_however_room_behind_a_slow_rpc_is_looked_for() {
    let _watchdog = Watchdog::new("the log of a run with each way to scrub");
    for scrub in [ScrubMode::OnFull, ScrubMode::AfterNack, ScrubMode::Ahead] {
        let name = format!("scrub-{scrub}");
        let (log, status) = run(&name, |config| (config.inline, config.scrub) = (Some(true), scrub));
        assert_same(&name, &log, status);
        let (config, _) = read_text(&log).expect("a log");
        assert_eq!(config.scrub, scrub, "{name}");
    }
}

/// Policies served with one log. `groups.rs` replays those of groups.
fn served() -> impl Iterator<Item = Policy> {
    let policies = Policy::SAMPLES.iter().map(|sample| sample.parse().expect("a sample is a policy"));
    policies.filter(|policy: &Policy| policy.availability() == Availability::Served).filter(|policy| {
        let has_one_log = !matches!(policy, Policy::Altocumulus(_));
        // One bound of `jbsq:N` stands for all.
        has_one_log && !matches!(policy, Policy::Jbsq(bound) if *bound != 2)
    })
}

/// Replays a log through a back end whose policy is a compile-time type, as in the simulator.
fn replay_compiled(config: BackendConfig, lines: Vec<LogLine>) -> Result<usize, ReplayError> {
    config.policy.with_state(config.cores, config.seed, Through { config, lines })
}

struct Through {
    config: BackendConfig,
    lines: Vec<LogLine>,
}

impl WithState for Through {
    type Output = Result<usize, ReplayError>;
    fn call<D: CentralDispatch>(self, dispatch: D) -> Self::Output {
        let Self { config, lines } = self;
        Ok(replay_through(Backend::try_with(config, dispatch)?, Beside::new(&config), lines)?)
    }
}

#[test]
fn the_log_of_a_run_with_two_workers_replays_under_every_policy_that_is_served() {
    let _watchdog = Watchdog::new("the log of a run with two workers");
    for policy in served() {
        let name = policy.to_string().replace(':', "-");
        let (log, status) = run(&name, |config| (config.workers, config.policy) = (2, policy));
        assert_same(&name, &log, status);
        assert!(status.nacked() > 0, "{name}: {status:?}");
        let (config, lines) = read_text(&log).expect("a log");
        let count = lines.len();
        assert_eq!(replay_compiled(config, lines), Ok(count), "{name}");
        assert_eq!(count_of(&log, " pull core=") > 0, policy == Policy::McsLock, "{name}");
        let suspensions = count_of(&log, "-> suspended");
        assert_eq!(suspensions > 0, matches!(policy, Policy::Preemptive(_)), "{name}: {suspensions}");
        let steals = count_of(&log, "-> victim=");
        assert!(steals >= status.stolen, "{name}: {steals} choices and {status:?}");
        assert_eq!(steals > 0, policy == Policy::WorkStealing, "{name}");
    }
}

/// With two workers a thief has no choice. Of these four, three stay in a handler while the fourth
/// serves all.
#[test]
fn the_log_of_a_thief_that_has_a_choice_replays() {
    const WORKERS: u16 = 4;
    const OTHERS: usize = 64;
    let _watchdog = Watchdog::new("the log of a thief that has a choice");
    let file = LogFile::new("parity-choice");
    let endpoint = endpoint("parity-choice");
    let config = server_config(|config| {
        (config.workers, config.policy) = (WORKERS, Policy::WorkStealing);
        (config.slo, config.service_mean) = (Span::from_ms(10), Span::from_us(2));
        config.decision_log = Some(file.0.clone());
    });
    let (held, may_go) = (Arc::new(AtomicU16::new(0)), Arc::new(AtomicU16::new(0)));
    let server = {
        let (held, may_go) = (Arc::clone(&held), Arc::clone(&may_go));
        Server::bind(&endpoint).config(config).serve(boxed(move |request: &[u8], reply: &mut Reply<'_>| {
            if request == b"hold" {
                let place = held.fetch_add(1, Ordering::Relaxed);
                wait_until("leave to go", || (may_go.load(Ordering::Relaxed) > place).then_some(()));
            }
            reply.write(request);
        }))
    };
    let server = server.expect("a server");
    // A hash of the sender picks the core: eight senders use at least three of the four.
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(&endpoint).expect("a connection")).collect();
    for client in &mut clients[..usize::from(WORKERS)] {
        client.submit(b"hold").expect("a free slot");
    }
    wait_until("four workers in a handler", || (held.load(Ordering::Relaxed) == WORKERS).then_some(()));
    let packets = server.status().read().packets;
    for sender in (0..clients.len()).cycle().take(OTHERS) {
        clients[sender].submit(b"one of many").expect("a free slot");
    }
    wait_until("their arrival", || (server.status().read().packets == packets + OTHERS as u64).then_some(()));
    may_go.store(1, Ordering::Relaxed);
    take_replies(&mut clients, OTHERS + 1);
    may_go.store(WORKERS, Ordering::Relaxed);
    take_replies(&mut clients, usize::from(WORKERS) - 1);
    drop(clients);
    server.stop();
    let log = file.text();
    let (config, lines) = read_text(&log).expect("a log");
    let (count, choices) = (lines.len(), lines.iter().filter(|line| has_choice(line)).count());
    assert_eq!(replay_compiled(config, lines), Ok(count));
    assert!(choices > 0, "no choice in\n{log}");
}

fn take_replies(clients: &mut [Client], replies: usize) {
    for _ in 0..replies {
        wait_until("a reply", || {
            let done = clients.iter_mut().find_map(|client| client.poll().map(|done| done.result.is_ok()));
            done.map(|is_ok| assert!(is_ok, "a refusal"))
        });
    }
}

/// Whether a thief had more than one queue to choose from.
fn has_choice(line: &LogLine) -> bool {
    matches!(line.input, Input::Steal { core, queues } if queues.count_ones() > 1 && queues & (1 << core.0) == 0)
}

#[test]
fn the_log_of_a_run_in_which_the_bound_of_the_queue_moves_replays() {
    let _watchdog = Watchdog::new("the log of a run in which the bound moves");
    let file = LogFile::new("parity-bound");
    let endpoint = endpoint("parity-bound");
    let config = server_config(|config| {
        (config.inline, config.decision_log) = (Some(true), Some(file.0.clone()));
        (config.slo, config.service_mean) = (Span::from_ms(10), Span::from_us(2));
    });
    let (server, mut worker) = open_one(&endpoint, config);
    let mut client = Client::connect(&endpoint).expect("a connection");
    let mut served = 0;
    // Fills the ring before each turn, so the queue is never empty; each RPC takes longer than
    // expected.
    while served < 5_000 {
        while client.submit(b"one of many").is_ok() {}
        served += worker.turn(&|request: &[u8], reply: &mut Reply<'_>| {
            spin(SERVICE);
            reply.write(request);
        });
        while let Some(done) = client.poll() {
            assert!(matches!(done.result, Ok(_) | Err(CallError::Nack { .. })), "{done:?}");
        }
    }
    server.stop();
    drop(worker);
    let log = file.text();
    assert!(replay_text(&log).unwrap_or_else(|error| panic!("{error}")) > 5_000);
    let bounds = count_of(&log, "-> bound=");
    assert!(bounds > 0 && bounds == count_of(&log, " queue-bound "), "{bounds} bounds in\n{log}");
    assert_tampered(&log, &[("-> bound=", "-> bound=9")]);
}

#[test]
fn a_log_that_was_tampered_with_does_not_replay() {
    let _watchdog = Watchdog::new("a tampered log");
    let (log, _) = run("tampered", |config| config.workers = 2);
    assert_tampered(
        &log,
        &[
            ("dispatch core=0", "dispatch core=1"),
            ("-> nack queue-bound", "-> nack buffer-full"),
            ("-> freed", "-> refused"),
        ],
    );
    let (log, _) = run("tampered-pulls", |config| (config.workers, config.policy) = (2, Policy::McsLock));
    assert_tampered_core(&log, " pull core=");
    let (log, _) = run("tampered-steals", |config| (config.workers, config.policy) = (2, Policy::WorkStealing));
    assert_tampered_core(&log, "-> victim=");
    let (log, _) = run("tampered-turns", |config| config.policy = "preemptive:2us".parse().expect("a policy"));
    assert_tampered(&log, &[("-> suspended", "-> runs"), ("begin context=0", "resume context=0")]);
}

/// Each of these changes of a decision in the middle of the log makes the replay differ.
fn assert_tampered(log: &str, changes: &[(&str, &str)]) {
    for (from, to) in changes {
        let at = log[log.len() / 2..].find(*from).expect("such a decision") + log.len() / 2;
        assert_differs(log, at..at + from.len(), to);
    }
}

/// Swapping the core after the last `word` makes the replay differ.
fn assert_tampered_core(log: &str, word: &str) {
    let at = log.rfind(word).expect("such a decision") + word.len();
    let other = if log[at..].starts_with('0') { "1" } else { "0" };
    assert_differs(log, at..at + 1, other);
}

fn assert_differs(log: &str, place: std::ops::Range<usize>, instead: &str) {
    let mut tampered = log.to_owned();
    tampered.replace_range(place.clone(), instead);
    let replayed = replay_text(&tampered);
    assert!(matches!(replayed, Err(ReplayError::Difference(_))), "{:?} for {:?}", instead, &log[place]);
}
