//! `darc` in a server: a service's types and their measured times decide which worker serves an
//! RPC.

use crate::support::log_file::LogFile;
use crate::support::{endpoint, endpoints, open_one, patient_client, server_config};
use nebula::{
    Class, Client, Description, Domains, Policy, Reply, RpcType, RunningServer, ServeError, Server, ServerConfig,
    Service, Span,
};
use nebula_nic::replay_text;
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// RPCs until `darc` reserves cores.
const WINDOW: u32 = 32;
/// One in this many RPCs is long.
const LONG_ONE_IN: u32 = 16;
/// Longer than the mean of the short ones, even on a busy machine.
const LONG: Duration = Duration::from_millis(200);
/// The type, which is the first byte, of requests that wait for the gate.
const GATED: u8 = b'g';

/// Short requests begin with 1, long ones with 2.
#[derive(Default)]
struct Gate {
    is_open: AtomicBool,
    held: AtomicU64,
    short: AtomicU64,
}

struct Typed(Arc<Gate>);

impl Service for Typed {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match request.first() {
            Some(1) => {
                self.0.short.fetch_add(1, Ordering::Relaxed);
            }
            Some(2) => spin(LONG),
            Some(&GATED) => {
                self.0.held.fetch_add(1, Ordering::Relaxed);
                wait_until("the gate", || self.0.is_open.load(Ordering::Relaxed).then_some(()));
            }
            _ => {}
        }
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().types(3, |request| match request.first() {
            Some(&GATED) => RpcType(2),
            Some(b'p') => std::panic::resume_unwind(Box::new("meant")),
            first => RpcType(first.copied().unwrap_or(0)),
        })
    }
}

fn serve(at: &str, change: impl FnOnce(&mut ServerConfig)) -> (RunningServer, Arc<Gate>) {
    let config = server_config(|config| {
        (config.policy, config.workers, config.type_window) = (Policy::Darc, 2, WINDOW);
        (config.slo, config.service_mean) = (Span::from_secs(1), Span::from_ms(1));
        change(config);
    });
    let gate = Arc::new(Gate::default());
    (Server::bind(at).config(config).serve(Typed(gate.clone())).expect("a server"), gate)
}

fn client(server: &RunningServer) -> Client {
    let config = patient_client().slots(64);
    Client::connect_with(server.endpoint().clone(), config).expect("a connection")
}

fn freed(server: &RunningServer, rpcs: u64) {
    wait_until("all to be freed", || (server.status().read().freed >= rpcs).then_some(()));
}

fn learn(server: &RunningServer, client: &mut Client) {
    for number in 0..WINDOW {
        let request = if number % LONG_ONE_IN == 0 { [2] } else { [1] };
        assert_eq!(client.call(&request), Ok(&request[..]));
    }
    freed(server, WINDOW.into());
}

/// Sends two RPCs that wait for the gate, until the server has them.
fn send_two_gated(server: &RunningServer, client: &mut Client) {
    let before = server.status().read().packets;
    for _ in 0..2 {
        client.submit(&[GATED]).expect("room");
    }
    client.flush();
    wait_until("their arrival", || {
        assert!(client.poll().is_none(), "the gate is closed");
        (server.status().read().packets >= before + 2).then_some(())
    });
}

fn take_two(gate: &Gate, client: &mut Client) {
    gate.is_open.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        wait_until("a reply", || client.poll().map(|done| assert!(done.result.is_ok(), "{done:?}")));
    }
}

fn over_both(name: &str, test: impl Fn(&str)) {
    endpoints(&format!("darc-{name}")).iter().for_each(|at| test(at));
}

#[test]
fn short_ones_are_served_while_more_long_ones_wait_than_there_are_workers() {
    let _watchdog = Watchdog::new("short ones under darc");
    over_both("short", |at| {
        let (server, gate) = serve(at, |_| ());
        let (mut asks, mut waits) = (client(&server), client(&server));
        learn(&server, &mut asks);
        send_two_gated(&server, &mut waits);
        let held = || gate.held.load(Ordering::Relaxed);
        wait_until("a held worker", || (held() == 1).then_some(()));
        for _ in 0..100 {
            assert_eq!(asks.call(&[1, 7]), Ok(&[1, 7][..]), "{at}");
        }
        assert_eq!(held(), 1, "{at}: the other one waits for the one core that is left to it");
        take_two(&gate, &mut waits);
        assert_eq!(gate.held.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn under_one_queue_they_wait() {
    let _watchdog = Watchdog::new("short ones under one queue");
    over_both("fcfs", |at| {
        let (server, gate) = serve(at, |config| config.policy = Policy::SingleQueue);
        let (mut asks, mut waits) = (client(&server), client(&server));
        learn(&server, &mut asks);
        let served = gate.short.load(Ordering::Relaxed);
        send_two_gated(&server, &mut waits);
        wait_until("both workers to be held", || (gate.held.load(Ordering::Relaxed) == 2).then_some(()));
        asks.submit(&[1]).expect("room");
        asks.flush();
        let arrived = u64::from(WINDOW) + 3;
        wait_until("its arrival", || (server.status().read().packets >= arrived).then_some(()));
        assert_eq!(gate.short.load(Ordering::Relaxed), served, "{at}: it waits");
        take_two(&gate, &mut waits);
        wait_until("its reply", || asks.poll().map(|done| assert!(done.result.is_ok(), "{done:?}")));
    });
}

#[test]
fn what_has_no_type_or_panics_as_it_is_asked_for_is_served_as_the_common_type() {
    let _watchdog = Watchdog::new("no type under darc");
    over_both("none", |at| {
        let (server, gate) = serve(at, |_| ());
        let (mut asks, mut waits) = (client(&server), client(&server));
        learn(&server, &mut asks);
        for request in [&b""[..], &[3], &[200, 1], b"panics"] {
            assert_eq!(asks.call(request), Ok(request), "{at}");
        }
        // Its type has no reserved core: it waits behind a long one, and ends.
        send_two_gated(&server, &mut waits);
        wait_until("a held worker", || (gate.held.load(Ordering::Relaxed) == 1).then_some(()));
        asks.submit(b"common").expect("room");
        asks.flush();
        wait_until("its arrival", || (server.status().read().packets >= u64::from(WINDOW) + 7).then_some(()));
        assert!(asks.poll().is_none(), "{at}: it waits");
        take_two(&gate, &mut waits);
        wait_until("its reply", || asks.poll().map(|done| assert!(done.result.is_ok(), "{done:?}")));
    });
}

#[test]
fn the_log_of_a_run_of_several_types_replays() {
    let _watchdog = Watchdog::new("the log of darc");
    for (name, workers, inline) in [("threads", 2, false), ("inline", 1, true)] {
        over_both("log", |at| {
            let file = LogFile::new(&format!("darc-{name}"));
            let (server, _) = serve(at, |config| {
                (config.workers, config.inline) = (workers, Some(inline));
                (config.decision_log, config.type_window) = (Some(file.0.clone()), 100);
            });
            let mut client = client(&server);
            let (mut sent, mut ended) = (0_u32, 0);
            while ended < 2_000 {
                let request = [if sent % 500 == 0 { 2 } else { [0, 1, 1, 9][sent as usize % 4] }];
                let may_send = sent < 2_000 && client.submit(&request).is_ok();
                sent += u32::from(may_send);
                if !may_send || sent % 16 == 0 {
                    while client.poll().is_some() {
                        ended += 1;
                    }
                }
            }
            drop(client);
            let (status, log) = server.stop_with_log();
            log.expect("a whole log");
            let log = file.text();
            assert!(log.lines().next().expect("a configuration").ends_with(" types=3 type_window=100"), "{at}");
            assert!(replay_text(&log).unwrap_or_else(|error| panic!("{name}, {at}: {error}")) > 4_000);
            assert_eq!(log.matches(" type ").count() as u64, status.completed, "{name}, {at}");
            assert!([0, 1, 2, 9].iter().all(|kind| log.contains(&format!(" type {kind} ->"))), "{name}, {at}");
        });
    }
}

struct Mixed;

impl Service for Mixed {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().classes(|_| Class::Worker).types(100, |_| RpcType(0))
    }
}

#[test]
fn long_ones_are_for_no_pool_unless_one_is_asked_for() {
    let bind = || Server::bind("udp://127.0.0.1:0").inline(false).policy(Policy::Darc);
    let error = bind().serve(Mixed).expect_err("too many types").to_string();
    assert!(error.contains("1 to 64"), "{error}");
    let error = bind().pool_threads(1).serve(Mixed).expect_err("a pool under darc");
    assert!(matches!(error, ServeError::LaterPolicy { policy: Policy::Darc }), "{error}");
}

#[test]
fn a_configuration_says_the_types_where_no_service_does() {
    let _watchdog = Watchdog::new("types of a configuration");
    let file = LogFile::new("darc-open");
    let types = Description::default().types(5, |request| RpcType(request.first().map_or(0, |first| first % 5)));
    let config = ServerConfig::default().inline(false).policy(Policy::Darc).description(types).decision_log(&file.0);
    let (server, worker) = open_one(&endpoint("darc-open"), config);
    let mut client = client(&server);
    for first in [3, 9] {
        client.submit(&[first]).expect("room");
        worker.wait_for_rpc().expect("an RPC").rpc_send(b"served");
        wait_until("a reply", || client.poll().map(|done| assert!(done.result.is_ok(), "{done:?}")));
    }
    drop((client, worker));
    server.stop();
    let log = file.text();
    assert_eq!([" type 3 ->", " type 4 ->"].map(|word| log.matches(word).count()), [1, 1], "{log}");
    assert!(replay_text(&log).is_ok(), "{log}");
}

#[test]
fn a_domain_asks_its_service_for_types() {
    let _watchdog = Watchdog::new("types of a domain");
    let file = LogFile::new("darc-domain");
    let config = ServerConfig::default().inline(false).policy(Policy::Darc).decision_log(&file.0);
    let server = Server::bind(&endpoint("darc-domain")).config(config);
    let domains = Domains::default().host(1, server, Typed(Arc::default())).serve().expect("a domain");
    for request in [[1], [2]] {
        assert_eq!(client(&domains.servers()[0]).call(&request), Ok(&request[..]));
    }
    domains.stop();
    let log = file.text();
    assert_eq!([" type 1 ->", " type 2 ->"].map(|word| log.matches(word).count()), [1, 1], "{log}");
    assert!(replay_text(&log).is_ok(), "{log}");
}
