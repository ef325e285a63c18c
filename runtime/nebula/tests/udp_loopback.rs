//! The kernel's UDP between threads of one process: sizes, modes, keys, sleep.

mod support;

use nebula::net::{Environment, KernelWire};
use nebula::{
    CallError, Client, ClientConfig, ConnectError, IdlePolicy, Key, Options, Policy, Reply, RunningServer, ServeError,
    Server, ServerConfig, Span, Wait,
};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use support::draw::Draw;
use support::{PATIENCE, echo, echo_sizes, roomy};

const LOOPBACK: &str = "udp://127.0.0.1:0";
fn serve(endpoint: &str, change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    Server::bind(endpoint).config(roomy(change)).serve(echo).expect("a server")
}

fn patient() -> ClientConfig {
    ClientConfig::default().call_timeout(PATIENCE)
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
            let server = serve(endpoint, |config| (config.inline, config.idle) = (inline, idle));
            echo_sizes(&mut client(&server, patient()));
            echo_sizes(&mut client(&server, patient().wait(Wait::Block)));
            assert_eq!(server.stop().violations, 0);
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
            .config(roomy(|config| config.inline = true))
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
    // By a ring to the worker's thread, at its turn at the lock, out of a queue, on its own stack, and by a call.
    for (policy, inline) in
        [("jbsq:2", false), ("mcs-lock", false), ("work-stealing", false), ("preemptive:1ms", false), ("jbsq:2", true)]
    {
        let late = Arc::new(AtomicU32::new(0));
        let seen = late.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            if request == b"slow" {
                nebula_testing::wait::spin(Duration::from_millis(30));
            } else {
                seen.fetch_add(1, Ordering::Relaxed);
            }
            reply.write(request);
        };
        let config = roomy(|config| (config.policy, config.inline) = (policy.parse().expect("a policy"), inline));
        let server = Server::bind(LOOPBACK).config(config).serve(service).expect("a server");
        let mut client = client(&server, patient());
        client.submit(b"slow").expect("room");
        let soon = Options::default().deadline(Span::from_ms(5));
        client.submit_with(b"late", soon).expect("room");
        wait_until("both ends", || {
            let _ = client.poll();
            (client.outstanding() == 0).then_some(())
        });
        wait_until("the last of them at the server", || {
            let status = server.status().read();
            // Late for the queue, or for the socket where the worker is the engine.
            (status.freed == 2 || status.nacked_expired == 1).then_some(())
        });
        let status = server.stop();
        assert_eq!((late.load(Ordering::Relaxed), status.nacked_expired), (0, 1), "{policy}, inline: {inline}");
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
fn where_nobody_serves_the_client_says_so_soon() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let started = Instant::now();
    let error = Client::connect(&format!("udp://{free}")).expect_err("nobody serves there");
    assert!(matches!(error, ConnectError::NobodyServes { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_secs(4), "the kernel knows at once that nobody listens");
}

/// Processor time of this process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).expect("a past"), u32::try_from(time.tv_nsec).expect("below a second"))
}

#[test]
fn a_blocking_server_and_client_cost_nothing_while_nothing_comes() {
    if let Some(words) = support::process::role() {
        return play_idle(&words[0]);
    }
    let _watchdog = Watchdog::new("a_blocking_server_and_client_cost_nothing_while_nothing_comes");
    // In a separate process: the other tests' time is not to be counted.
    for kind in ["inline", "threaded"] {
        let test = "a_blocking_server_and_client_cost_nothing_while_nothing_comes";
        let mut process = support::process::Process::spawn(test, &[kind]);
        let line = process.line().expect("what it took");
        let spent: u64 = line.parse().expect("microseconds");
        assert!(spent < 10_000, "{kind}: {spent} µs of processor time in half a second of silence");
    }
}

fn play_idle(kind: &str) {
    let server = serve(LOOPBACK, |config| (config.inline, config.idle) = (kind == "inline", IdlePolicy::Block));
    let mut client = client(&server, patient().wait(Wait::Block));
    assert_eq!(client.call(b"awake").expect("an echo"), b"awake");
    std::thread::sleep(Duration::from_millis(50));
    let before = processor_time();
    std::thread::sleep(Duration::from_millis(500));
    let spent = processor_time() - before;
    assert_eq!(client.call(b"still").expect("an echo after the silence"), b"still");
    support::process::say(&spent.as_micros().to_string());
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
