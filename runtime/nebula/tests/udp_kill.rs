//! A server over UDP that is killed and restarted while clients go on: each call ends once, and
//! none runs twice.

use crate::support::draw::Draw;
use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::{lasting_udp_endpoint, unhurried_config};
use nebula::{CallError, Client, ClientConfig, Executed, Reply, RetryPolicy, Server, Span};
use nebula_testing::wait::Watchdog;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::exit;
use std::time::Duration;

const KILLS: u32 = 12;
const TEST: &str = "udp_kill::a_server_killed_in_a_loop_runs_nothing_twice";

/// Serves at `endpoint` until it is killed, and logs each RPC before the answer.
fn play_server(endpoint: &str, log: &str) -> ! {
    let log = OpenOptions::new().append(true).create(true).open(log).expect("a log");
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        // One write, so that a line is whole or missing.
        (&log).write_all(&request[..8]).expect("a log");
        reply.write(request);
    };
    let config = unhurried_config(|config| {
        config.inline = Some(true);
    });
    let server = Server::bind(endpoint).config(config).serve(service).expect("a server");
    say("ready");
    wait_for_end();
    server.stop();
    exit(0);
}

/// How calls ended.
#[derive(Default)]
struct Ends {
    outstanding: HashMap<nebula::Ticket, u64>,
    replied: Vec<u64>,
    /// Calls without a reply, and what `was_executed` said.
    failed: Vec<(u64, Executed)>,
}

impl Ends {
    fn take(&mut self, client: &mut Client) -> bool {
        let Some(done) = client.poll() else { return false };
        let call = self.outstanding.remove(&done.ticket).expect("one end a ticket");
        match done.result {
            Ok(reply) => {
                assert_eq!(reply[..8], call.to_le_bytes());
                self.replied.push(call);
            }
            Err(
                error @ (CallError::ServerGone
                | CallError::TimedOut
                | CallError::Stale
                | CallError::Expired
                | CallError::NotSent(_)),
            ) => {
                self.failed.push((call, error.was_executed()));
            }
            Err(error) => panic!("{error}"),
        }
        true
    }
}

#[test]
fn a_server_killed_in_a_loop_runs_nothing_twice() {
    if let Some(words) = role() {
        play_server(&words[0], &words[1]);
    }
    let _watchdog = Watchdog::new(TEST);
    let endpoint = lasting_udp_endpoint();
    let path = std::env::temp_dir().join(format!("nebula-udp-kill-{}", std::process::id()));
    let log = path.to_str().expect("text").to_owned();
    let mut server = Process::spawn(TEST, &[&endpoint, &log]);
    server.wait_for("ready");
    let mut config = ClientConfig::default().deadline(Span::from_secs(20)).call_timeout(Duration::from_secs(20));
    config.retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 8, seed: 1 };
    let mut client = Client::connect_with(&endpoint, config).expect("a client");
    let (mut ends, mut draw, mut calls) = (Ends::default(), Draw::new(9), 0_u64);
    for _ in 0..KILLS {
        // The replies measure when to kill, so each kill comes at another moment.
        let until = ends.replied.len() + 20 + draw.below(400);
        while ends.replied.len() < until {
            step(&mut client, &mut ends, &mut draw, &mut calls);
        }
        server.kill();
        server = Process::spawn(TEST, &[&endpoint, &log]);
        server.wait_for("ready");
    }
    while !ends.outstanding.is_empty() {
        if !ends.take(&mut client) {
            std::thread::yield_now();
        }
    }
    server.kill();
    check(&ends, calls, &path);
}

fn step(client: &mut Client, ends: &mut Ends, draw: &mut Draw, calls: &mut u64) {
    while ends.outstanding.len() < 16 {
        let size = [8, 64, 2000][draw.below(3)];
        let mut request = draw.bytes(size);
        request[..8].copy_from_slice(&calls.to_le_bytes());
        let Ok(ticket) = client.submit(&request) else { break };
        ends.outstanding.insert(ticket, *calls);
        *calls += 1;
    }
    if !ends.take(client) {
        std::thread::yield_now();
    }
}

fn check(ends: &Ends, calls: u64, path: &std::path::Path) {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut File::open(path).expect("the log"), &mut bytes).expect("the log");
    let _ = std::fs::remove_file(path);
    let mut runs: HashMap<u64, u32> = HashMap::new();
    for run in bytes.chunks_exact(8) {
        *runs.entry(u64::from_le_bytes(run.try_into().expect("eight"))).or_default() += 1;
    }
    assert!(runs.values().all(|&runs| runs == 1), "an RPC ran twice");
    assert!(ends.replied.iter().all(|call| runs.contains_key(call)), "a reply to an RPC that never ran");
    assert_eq!((ends.replied.len() + ends.failed.len()) as u64, calls, "each call ends once");
    assert!(ends.failed.iter().any(|&(_, told)| told == Executed::Unknown), "some were in the server as it was killed");
    for (call, told) in &ends.failed {
        let is_told = *told == Executed::Unknown || runs.contains_key(call) == (*told == Executed::Yes);
        assert!(is_told, "call {call} was said to be executed: {told:?}");
    }
}
