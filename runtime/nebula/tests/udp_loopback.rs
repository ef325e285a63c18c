//! The kernel's UDP between threads of one process: sizes, modes, keys, sleep.

use crate::support::draw::Draw;
use crate::support::{echo, echo_sizes, roomy};
use nebula::net::{Environment, KernelWire};
use nebula::{
    CallError, Client, ClientConfig, ConnectError, IdlePolicy, Key, Options, Policy, Reply, RunningServer, ServeError,
    Server, ServerConfig, Span, Wait,
};
use nebula_testing::wait::{Watchdog, wait_until, wait_until_unchanged};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LOOPBACK: &str = "udp://127.0.0.1:0";
fn serve(endpoint: &str, change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    Server::bind(endpoint).config(roomy(change)).serve(echo).expect("a server")
}

fn patient() -> ClientConfig {
    crate::support::patient_client()
}

fn client(server: &RunningServer, config: ClientConfig) -> Client {
    Client::connect_with(server.endpoint(), config).expect("a client")
}

#[test]
fn rpcs_of_every_size_go_over_both_families_in_every_mode() {
    let _watchdog = Watchdog::new("rpcs_of_every_size_go_over_both_families_in_every_mode");
    let has_ipv6 = std::net::UdpSocket::bind("[::1]:0").is_ok();
    if !has_ipv6 {
        println!("skipped for IPv6: this machine has no ::1");
    }
    let endpoints = [Some(LOOPBACK), has_ipv6.then_some("udp://[::1]:0")];
    for endpoint in endpoints.into_iter().flatten() {
        for (inline, idle) in [
            (true, IdlePolicy::Adaptive),
            (false, IdlePolicy::Adaptive),
            (true, IdlePolicy::Block),
            (false, IdlePolicy::Block),
        ] {
            let server = serve(endpoint, |config| (config.inline, config.idle) = (Some(inline), idle));
            echo_sizes(&mut client(&server, patient()));
            echo_sizes(&mut client(&server, patient().wait(Wait::Block)));
            server.stop();
        }
    }
}

#[test]
fn every_policy_of_one_engine_serves() {
    let _watchdog = Watchdog::new("every_policy_of_one_engine_serves");
    for policy in ["rss", "round-robin", "single-queue", "jbsq:3", "mcs-lock", "work-stealing", "preemptive:5us"] {
        let policy: Policy = policy.parse().expect("a policy");
        let server = serve(LOOPBACK, |config| (config.policy, config.workers) = (policy, 2));
        let mut client = client(&server, patient());
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
        let mut client = Client::connect_over(address, environment, patient()).expect("a client");
        let (mut sent, mut done, mut draw) = (0_u64, 0, Draw::new(3));
        let mut requests = std::collections::HashMap::new();
        while done < 5000 {
            while sent < 5000 {
                let size = [8, 64, 700, 3000][draw.below(4)];
                let request = draw.bytes(size);
                let Ok(ticket) = client.submit(&request) else { break };
                requests.insert(ticket, request);
                sent += 1;
            }
            while let Some(completion) = client.poll() {
                let request = requests.remove(&completion.ticket).expect("one end a ticket");
                let result = completion.result.map(|reply| reply == request);
                assert_eq!(
                    result,
                    Ok(true),
                    "{done} done, {sent} sent, {} B, {:?}",
                    request.len(),
                    server.status().read()
                );
                done += 1;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Release);
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
        let mut client = client(&server, patient());
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

#[test]
fn a_key_opens_and_another_or_none_does_not() {
    let _watchdog = Watchdog::new("a_key_opens_and_another_or_none_does_not");
    let key = Key::new([7; 32]);
    let server = serve(LOOPBACK, |config| config.keys = key.clone().into());
    echo_sizes(&mut client(&server, patient().key(key)));
    let soon = ClientConfig::default().call_timeout(Duration::from_millis(300));
    for (config, expected) in [(soon.clone(), "key"), (soon.clone().key(Key::new([8; 32])), "key")] {
        let error = Client::connect_with(server.endpoint(), config).expect_err("no key, no welcome");
        assert!(error.to_string().contains(expected) && !error.to_string().contains('\n'), "{error}");
    }
    let plain = serve(LOOPBACK, |_| ());
    let error = Client::connect_with(plain.endpoint(), soon.key(Key::new([7; 32]))).expect_err("the server has no key");
    assert!(error.to_string().contains("key"), "{error}");
}

#[test]
fn without_a_key_nobody_serves_or_calls_beyond_this_machine_by_accident() {
    let error = Server::bind("udp://0.0.0.0:0").serve(echo).expect_err("open to everybody");
    assert!(matches!(error, ServeError::Insecure { .. }) && error.to_string().contains("--insecure"), "{error}");
    let config = roomy(|config| config.insecure = true);
    let server = Server::bind("udp://0.0.0.0:0").config(config).serve(echo).expect("as it was wished");
    assert!(Client::connect(server.endpoint()).is_err(), "0.0.0.0 is nobody's address, or not of this machine alone");
    let error = Client::connect("udp://192.0.2.1:7400").expect_err("not on this machine");
    assert!(error.to_string().contains("insecure"), "{error}");
}

#[test]
fn where_nobody_serves_the_client_says_so() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let error = Client::connect(&format!("udp://{free}")).expect_err("nobody serves there");
    assert!(matches!(error, ConnectError::NobodyServes { .. }), "{error}");
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
    let server = serve(LOOPBACK, |config| (config.inline, config.idle) = (Some(kind == "inline"), IdlePolicy::Block));
    let mut client = client(&server, patient().wait(Wait::Block));
    assert_eq!(client.call(b"awake").expect("an echo"), b"awake");
    let threads = wait_until_unchanged("a server that rests", Duration::from_millis(300), naps).len();
    assert!(threads > 0);
    assert_eq!(client.call(b"still").expect("an echo after the silence"), b"still");
    crate::support::process::say("it rests");
}

#[test]
fn a_server_that_is_stopped_is_a_definite_end() {
    let _watchdog = Watchdog::new("a_server_that_is_stopped_is_a_definite_end");
    let server = serve(LOOPBACK, |_| ());
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
