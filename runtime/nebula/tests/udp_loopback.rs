//! The kernel's UDP between threads of one process: policies, offload, deadlines, sleep.
//! `networks.rs` has what TCP does too.

use crate::support::draw::Draw;
use crate::support::exchange::{assert_echo, exchange, of_sizes};
use crate::support::{echo, patient_client, roomy};
use nebula::net::{Environment, KernelWire};
use nebula::{
    CallError, Client, ClientConfig, IdlePolicy, Options, Policy, Reply, RunningServer, Server, ServerConfig, Span,
    Wait,
};
use nebula_testing::wait::{Watchdog, wait_until, wait_until_unchanged};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LOOPBACK: &str = "udp://127.0.0.1:0";

fn serve(change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    Server::bind(LOOPBACK).config(roomy(change)).serve(echo).expect("a server")
}

fn client(server: &RunningServer, config: ClientConfig) -> Client {
    Client::connect_with(server.endpoint(), config).expect("a client")
}

#[test]
fn every_policy_of_one_engine_serves() {
    let _watchdog = Watchdog::new("every_policy_of_one_engine_serves");
    for policy in ["rss", "round-robin", "single-queue", "jbsq:3", "mcs-lock", "work-stealing", "preemptive:5us"] {
        let policy: Policy = policy.parse().expect("a policy");
        let server = serve(|config| (config.policy, config.workers) = (policy, 2));
        let mut client = client(&server, patient_client());
        for i in 0..200_u32 {
            assert_eq!(client.call(&i.to_le_bytes()).expect("an echo"), i.to_le_bytes(), "{policy}");
        }
    }
}

#[test]
fn many_outstanding_rpcs_each_get_their_own_reply() {
    let _watchdog = Watchdog::new("many_outstanding_rpcs_each_get_their_own_reply");
    for offload in [true, false] {
        let wire = |wire: std::io::Result<KernelWire>| wire.expect("a socket").offload(offload).expect("an option");
        let wire_of_server = wire(KernelWire::bind("127.0.0.1:0".parse().expect("an address")));
        let environment = Environment::machine(wire_of_server).expect("random bytes");
        let (server, mut workers) = Server::bind(LOOPBACK)
            .config(roomy(|config| config.inline = Some(true)))
            .open_over(environment)
            .expect("a server");
        let nebula::Endpoint::Udp(address) = *server.endpoint() else { panic!("a udp endpoint") };
        let stop = server.stopper();
        let worker = workers.remove(0);
        let serving = std::thread::spawn(move || worker.run(&echo));
        let environment = Environment::machine(wire(KernelWire::connect(address))).expect("random bytes");
        let mut client = Client::connect_over(address, environment, patient_client()).expect("a client");
        let mut draw = Draw::new(3);
        exchange(&mut client, 5000, usize::MAX, |_| of_sizes(&mut draw, &[8, 64, 700, 3000]), assert_echo);
        stop.stop();
        serving.join().expect("a worker");
        let status = server.stop();
        assert!(status.freed >= 5000 && status.slots_used == 0, "{status:?}");
    }
}

#[test]
fn what_expires_behind_a_slow_rpc_is_dropped_whoever_runs_the_worker() {
    let _watchdog = Watchdog::new("what_expires_behind_a_slow_rpc_is_dropped_whoever_runs_the_worker");
    // Each way to a handler: a ring to the worker's thread, the lock, a queue, its own stack, and a
    // call.
    for (policy, inline) in
        [("jbsq:2", false), ("mcs-lock", false), ("work-stealing", false), ("preemptive:1ms", false), ("jbsq:2", true)]
    {
        let late = Arc::new(AtomicU32::new(0));
        let (seen, (begin, begun), (let_go, go_on)) = (late.clone(), channel(), channel());
        let go_on = Mutex::new(go_on);
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            match request {
                b"slow" => {
                    begin.send(()).expect("the test waits");
                    go_on.lock().expect("one at a time").recv().expect("the test lets it go");
                }
                b"late" => drop(seen.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
            reply.write(request);
        };
        let config = roomy(|config| (config.policy, config.inline) = (policy.parse().expect("a policy"), Some(inline)));
        let server = Server::bind(LOOPBACK).config(config).serve(service).expect("a server");
        let mut client = client(&server, patient_client());
        let mut expired = 0;
        // If this thread lacks a core, the call may not be sent, or may come after the slow one.
        while expired == 0 {
            client.submit(b"slow").expect("room");
            client.flush();
            begun.recv().expect("it runs");
            client.submit_with(b"late", Options::default().deadline(Span::from_ms(5))).expect("room");
            wait_until("the end of what is late", || client.poll().map(|done| assert!(done.result.is_err())));
            let_go.send(()).expect("it runs");
            wait_until("the end of the slow one", || client.poll().map(|done| assert!(done.result.is_ok())));
            // Behind both.
            assert_eq!(client.call(b"last"), Ok(&b"last"[..]));
            expired = crate::support::wait_until_served(server.status(), 0).nacked_expired;
        }
        assert_eq!(late.load(Ordering::Relaxed), 0, "{policy}, inline: {inline}");
    }
}

/// How often each thread of the server has begun to sleep.
fn naps() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten().map(|task| task.path());
    let is_nebulas = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("nebula-"))
    };
    let naps = |task: std::path::PathBuf| {
        let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
        status.lines().filter(|line| line.contains("ctxt_switches")).collect()
    };
    tasks.filter(is_nebulas).map(naps).collect()
}

#[test]
fn a_blocking_server_and_client_rest_while_nothing_comes() {
    const TEST: &str = "udp_loopback::a_blocking_server_and_client_rest_while_nothing_comes";
    if let Some(words) = crate::support::process::role() {
        return play_idle(&words[0]);
    }
    let _watchdog = Watchdog::new(TEST);
    // In a separate process, which has no other servers.
    for kind in ["inline", "threaded"] {
        let mut process = crate::support::process::Process::spawn(TEST, &[kind]);
        process.wait_for("it rests");
    }
}

fn play_idle(kind: &str) {
    let server = serve(|config| (config.inline, config.idle) = (Some(kind == "inline"), IdlePolicy::Block));
    let mut client = client(&server, patient_client().wait(Wait::Block));
    assert_eq!(client.call(b"awake").expect("an echo"), b"awake");
    let threads = wait_until_unchanged("a server that rests", Duration::from_millis(300), naps).len();
    assert!(threads > 0);
    assert_eq!(client.call(b"still").expect("an echo after the silence"), b"still");
    crate::support::process::say("it rests");
}

#[test]
fn a_server_that_is_stopped_is_a_definite_end() {
    let _watchdog = Watchdog::new("a_server_that_is_stopped_is_a_definite_end");
    let server = serve(|_| ());
    let mut client = client(&server, ClientConfig::default().call_timeout(Duration::from_secs(2)));
    assert_eq!(client.call(b"a").expect("an echo"), b"a");
    server.stop();
    let error = client.call(b"b").expect_err("nobody is there");
    assert!(matches!(error, CallError::TimedOut | CallError::ServerGone), "{error}");
    wait_until("nothing outstanding", || {
        let _ = client.poll();
        (client.outstanding() == 0).then_some(())
    });
}
