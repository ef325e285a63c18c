//! Nebula's own protocol over TCP: several engines and servers, overload, one-sided operations, and
//! links that break. `networks.rs` has what UDP does too.

use crate::support::cut::Cuttable;
use crate::support::draw::Draw;
use crate::support::exchange::{self, assert_echo, of_sizes};
use crate::support::{PATIENCE, echo, roomy, server_config};
use nebula::{
    CallError, Client, ClientConfig, ConnectError, Endpoint, IdlePolicy, Key, Keys, NackReason, Options, Region,
    RegionId, Reply, RetryPolicy, Rights, RunningServer, Server, ServerConfig, Span, Wait,
};
use nebula_testing::wait::{RaisedAtTheEnd, Watchdog, throughout, wait_until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const HERE: &str = "tcp://127.0.0.1:0";
/// [`roomy`] for a server with one thread that sleeps.
fn sleepy(change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    roomy(|config| {
        (config.inline, config.idle) = (Some(true), IdlePolicy::Block);
        change(config);
    })
}

fn serve(change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    Server::bind(HERE).config(sleepy(change)).serve(echo).expect("a server")
}

fn patient() -> ClientConfig {
    ClientConfig::default().call_timeout(PATIENCE).wait(Wait::Block)
}

fn address(server: &RunningServer) -> SocketAddr {
    let &Endpoint::Tcp(address) = server.endpoint() else { panic!("a tcp endpoint") };
    address
}

#[test]
fn tickets_of_many_clients_at_several_engines_each_get_their_own_reply() {
    let _watchdog = Watchdog::new("tickets over TCP");
    let server = serve(|config| (config.engines, config.workers) = (2, 2));
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let at = server.endpoint();
            scope.spawn(move || exchange(&mut Client::connect_with(at, patient()).expect("a client"), seed));
        }
    });
    let status = server.stop();
    assert_eq!(status.slots_used, 0);
    assert!(status.freed >= 4 * RPCS as u64, "{status:?}");
}

const RPCS: usize = 1000;

fn exchange(client: &mut Client, seed: u64) {
    let mut draw = Draw::new(seed);
    exchange::exchange(client, RPCS, usize::MAX, |_| of_sizes(&mut draw, &[8, 64, 700, 3000]), assert_echo);
}

#[test]
fn where_another_protocol_is_spoken_the_client_says_so() {
    let _watchdog = Watchdog::new("another protocol over TCP");
    let others = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let at = format!("tcp://{}", others.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut stream, _) = others.accept().expect("a client");
        stream.write_all(b"ERROR\r\n").expect("said");
        // Lasts until the client has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = Client::connect_with(&at, patient()).expect_err("something else is spoken there");
    assert!(matches!(error, ConnectError::OthersProtocol { .. }), "{error}");
}

#[test]
fn a_full_queue_refuses_at_once_and_what_is_late_is_not_executed() {
    let _watchdog = Watchdog::new("NACKs over TCP");
    let executed = Arc::new(AtomicU64::new(0));
    let count = executed.clone();
    let slow = move |request: &[u8], reply: &mut Reply<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        nebula_testing::wait::spin(Duration::from_millis(20));
        reply.write(request);
    };
    let config = server_config(|config| {
        (config.inline, config.slo, config.service_mean) = (Some(true), Span::from_ms(60), Span::from_ms(20));
    });
    let server = Server::bind(HERE).config(config).serve(slow).expect("a server");
    let mut client = Client::connect_with(server.endpoint(), patient().retry(RetryPolicy::GiveUp)).expect("a client");
    let (mut sent, mut answered, mut refused) = (0, 0, 0);
    while refused == 0 {
        sent += u32::from(client.submit(b"more").is_ok());
        while let Some(completion) = client.poll() {
            match completion.result {
                Ok(_) => answered += 1,
                Err(CallError::Nack { reason: NackReason::QueueBound }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    client.submit_with(b"late", Options::default().deadline(Span::from_ms(1))).ok();
    wait_until("every end", || {
        let _ = client.poll().map(|completion| answered += u64::from(completion.result.is_ok()));
        (client.outstanding() == 0).then_some(())
    });
    assert!(sent > 1 && executed.load(Ordering::Relaxed) >= answered, "{sent} {answered}");
    assert!(server.stop().nacked() > 0);
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let _watchdog = Watchdog::new("a TCP server comes back");
    let mut server = serve(|_| ());
    let at = server.endpoint().clone();
    let mut client = Client::connect_with(&at, patient()).expect("a client");
    for round in 0..3_u8 {
        assert_eq!(client.call(&[round]), Ok(&[round][..]));
        server.stop();
        server = wait_until("the address", || Server::bind(&at).config(sleepy(|_| ())).serve(echo).ok());
        // Calls on the broken link may or may not have run; later ones do.
        wait_until("the new server", || match client.call(b"again") {
            Ok(_) => Some(()),
            Err(CallError::ServerGone) => None,
            Err(error) => panic!("{error}"),
        });
    }
}

/// Makes numbered calls one after another over a link that keeps breaking; their ends, and each
/// call's executions.
fn call_over_a_breaking_link(keys: &Keys) -> (Vec<Result<(), CallError>>, Vec<u64>) {
    const CALLS: usize = 100;
    let executed: Arc<Vec<AtomicU64>> = Arc::new((0..CALLS).map(|_| AtomicU64::new(0)).collect());
    let count = executed.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        count[usize::from(u16::from_le_bytes([request[0], request[1]]))].fetch_add(1, Ordering::Relaxed);
        reply.write(request);
    };
    let config = sleepy(|config| config.keys = keys.clone());
    let server = Server::bind(HERE).config(config).serve(service).expect("a server");
    let link = Cuttable::to(address(&server));
    let mut config = patient();
    config.keys = keys.clone();
    let mut client = Client::connect_with(&format!("tcp://{}", link.address), config).expect("a client");
    let (begun, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let ends = std::thread::scope(|scope| {
        let _end = RaisedAtTheEnd(&is_over);
        scope.spawn(|| {
            let (mut draw, mut next) = (Draw::new(1), 5);
            while !is_over.load(Ordering::Relaxed) {
                let micros = u64::try_from(draw.below(300)).expect("few");
                throughout(Duration::from_micros(micros), || ());
                if begun.load(Ordering::Relaxed) >= next {
                    next += 5;
                    link.cut();
                }
            }
        });
        let calls = 0..u16::try_from(CALLS).expect("few");
        calls
            .map(|call| {
                let request = call.to_le_bytes();
                begun.fetch_add(1, Ordering::Relaxed);
                client.call(&request).map(|reply| assert_eq!(reply, request))
            })
            .collect()
    });
    (ends, executed.iter().map(|count| count.load(Ordering::Relaxed)).collect())
}

#[test]
fn with_a_key_calls_survive_a_link_that_breaks_and_each_is_executed_once() {
    let _watchdog = Watchdog::new("a breaking link with a key");
    let (ends, executed) = call_over_a_breaking_link(&Key::new([7; 32]).into());
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    assert!(executed.iter().all(|&count| count == 1), "{executed:?}");
}

#[test]
fn without_a_key_a_call_that_a_breaking_link_meets_ends_and_is_executed_once_at_most() {
    let _watchdog = Watchdog::new("a breaking link without a key");
    let (ends, executed) = call_over_a_breaking_link(&Keys::default());
    for (end, &count) in ends.iter().zip(&executed) {
        match end {
            Ok(()) => assert_eq!(count, 1),
            Err(CallError::ServerGone) => assert!(count <= 1),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn several_servers_are_one_service() {
    let _watchdog = Watchdog::new("several TCP servers");
    let servers = [serve(|_| ()), serve(|_| ())];
    let list = servers.each_ref().map(|server| server.endpoint().to_string()).join(",");
    let mut client = Client::connect_with(&list, patient()).expect("a client");
    exchange(&mut client, 3);
    let [first, second] = servers.map(|server| server.stop().freed);
    assert!(first > 0 && second > 0, "{first} and {second}");
}

#[test]
fn one_sided_operations_need_no_worker_here_either() {
    let _watchdog = Watchdog::new("one-sided over TCP");
    let region = Region::create(1 << 16).expect("memory");
    let server = Server::bind(HERE).config(sleepy(|_| ())).register(&region, Rights::READ | Rights::WRITE);
    let server = server.serve(echo).expect("a server");
    let mut client = Client::connect_with(server.endpoint(), patient().one_sided(true)).expect("a client");
    let written = Draw::new(5).bytes(20_000);
    let ticket = client.write(RegionId(0), 64, &written).expect("room");
    client.finish(ticket).expect("written");
    let ticket = client.read(RegionId(0), 64, 20_000).expect("room");
    assert!(client.finish(ticket).expect("read") == written);
}
