//! An RPC allocates nothing, at the client or at the server.

mod support;

use crate::support::{endpoint, open_one, unhurried_config};
use nebula::{AsyncClient, Client, ClientConfig, Node, Policy, Received, Reply, Server, Span, SubmitError};
use nebula_testing::allocations::Counting;
use nebula_testing::wait::{Limit, Watchdog};
use rustix::thread::gettid;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// More than this process ever has.
const THREADS_MAX: usize = 64;
/// Allocations of each thread, at its index in `THREADS`. The test harness and other threads
/// without a part in an RPC may allocate.
static ALLOCATIONS: [AtomicU64; THREADS_MAX] = [const { AtomicU64::new(0) }; THREADS_MAX];
static THREADS: [AtomicI32; THREADS_MAX] = [const { AtomicI32::new(0) }; THREADS_MAX];

fn count() {
    let thread = gettid().as_raw_pid();
    let is_its =
        |slot: &&AtomicI32| slot.load(Relaxed) == thread || slot.compare_exchange(0, thread, Relaxed, Relaxed).is_ok();
    let place = THREADS.iter().take_while(|slot| !is_its(slot)).count();
    ALLOCATIONS[place].fetch_add(1, Relaxed);
}

fn counts() -> [u64; THREADS_MAX] {
    ALLOCATIONS.each_ref().map(|count| count.load(Relaxed))
}

/// Allocations since `before` of the threads that take part in an RPC: this one and the server's,
/// without its listener.
fn allocations_since(before: &[u64; THREADS_MAX]) -> u64 {
    let since = counts().into_iter().zip(before).map(|(count, before)| count - before);
    since.zip(&THREADS).filter(|(_, thread)| takes_part(thread.load(Relaxed))).map(|(count, _)| count).sum()
}

fn takes_part(thread: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    thread == gettid().as_raw_pid() || name.starts_with("nebula-engine") || name.starts_with("nebula-worker")
}

#[global_allocator]
static ALLOCATOR: Counting = Counting::calling(count);

fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

/// Sends `rpcs` RPCs, 64 at once and one in 16 of several packets, and counts the replies; `turn`
/// runs the server.
fn stream(client: &mut Client, rpcs: u64, turn: &mut impl FnMut()) -> u64 {
    let request = [7; 3000];
    let (mut sent, mut ended, mut replied) = (0, 0, 0);
    while ended < rpcs {
        if sent < rpcs && client.outstanding() < 64 {
            let bytes = if sent % 16 == 0 { 3000 } else { 64 };
            match client.submit(&request[..bytes]) {
                Ok(_) => sent += 1,
                Err(error) => assert_eq!(error, SubmitError::Full),
            }
        }
        match client.poll().map(|done| done.result.is_ok_and(|reply| reply[0] == 7)) {
            Some(is_reply) => {
                replied += u64::from(is_reply);
                ended += 1;
            }
            None => turn(),
        }
    }
    replied
}

/// Allocations while a warmed-up client sends `rpcs` RPCs.
fn allocations_of(name: &str, rpcs: u64, mut turn: impl FnMut()) -> u64 {
    let config = ClientConfig::default().slots(512).reply_bytes_max(3000);
    let mut client = Client::connect_with(name, config).expect("a connection");
    stream(&mut client, 2_000, &mut turn);
    let before = counts();
    let replied = stream(&mut client, rpcs, &mut turn);
    let allocations = allocations_since(&before);
    assert!(replied > 0, "none of {rpcs} was answered");
    allocations
}

/// Allocations while a warmed-up client of tasks makes `calls` calls and reuses one reply buffer.
/// With `poll_for` zero its task sleeps each time.
fn allocations_of_awaited(name: &str, calls: u64, poll_for: Span, mut turn: impl FnMut()) -> u64 {
    // It sleeps during the warm-up, which makes room for wakers. The thread that wakes tasks makes
    // that room on first use, and is not counted.
    let mut client = AsyncClient::connect(name).wait().expect("a connection").poll_for(Span::ZERO);
    let mut buffer = Vec::with_capacity(64);
    let mut cx = Context::from_waker(Waker::noop());
    let mut call = |client: &AsyncClient, number: u64| {
        let mut call = pin!(client.call(number.to_le_bytes()).into_buffer(std::mem::take(&mut buffer)));
        buffer = loop {
            match call.as_mut().poll(&mut cx) {
                Poll::Ready(reply) => break reply.expect("an echo"),
                Poll::Pending => turn(),
            }
        };
        assert_eq!(buffer, number.to_le_bytes());
    };
    (0..2_000).for_each(|number| call(&client, number));
    client = client.poll_for(poll_for);
    let before = counts();
    (0..calls).for_each(|number| call(&client, number));
    allocations_since(&before)
}

// A single test, since it counts the allocations of a server's threads.
#[test]
fn no_rpc_allocates_at_either_side() {
    let _watchdog = Watchdog::new("no RPC allocates");
    let before = counts();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations_since(&before), 1, "the counter counts");

    a_server_by_hand();
    a_node();
    a_client_of_several_servers();
    handlers_that_take_turns();
    servers_with_threads();
    groups();
}

fn a_server_by_hand() {
    let name = endpoint("allocations-by-hand");
    let config = unhurried_config(|config| {
        config.inline = Some(true);
    });
    let (server, mut worker) = open_one(&name, config);
    let turn = || {
        worker.turn(&echo);
    };
    assert_eq!(allocations_of(&name, 200_000, turn), 0, "of RPCs with client and server on one thread");
    for poll_for in [Span::MAX, Span::ZERO] {
        let turn = || {
            worker.turn(&echo);
        };
        assert_eq!(
            allocations_of_awaited(&name, 20_000, poll_for, turn),
            0,
            "of awaited calls, polling for {poll_for}"
        );
    }
    server.stop();
}

fn a_node() {
    let name = endpoint("allocations-node");
    let config = unhurried_config(|config| {
        config.inline = Some(true);
    });
    let (mut node, mut copy) = (Node::default(), Vec::with_capacity(3000));
    node.host(0, Server::bind(&name).config(config)).expect("a server");
    let turn = || {
        let caller = match node.try_wait_for_rpc(0).expect("it runs") {
            Some(Received::Request(rpc)) => {
                copy.clear();
                copy.extend_from_slice(rpc.payload());
                rpc.free().expect("it was not answered")
            }
            _ => return,
        };
        node.rpc_send(&copy, caller, 0).expect("a domain of the node");
    };
    assert_eq!(allocations_of(&name, 50_000, turn), 0, "of RPCs at a node");
    drop(node);
}

fn a_client_of_several_servers() {
    let names = [endpoint("allocations-several-one"), endpoint("allocations-several-other")];
    let several = names.each_ref().map(|name| {
        let config = unhurried_config(|config| {
            config.inline = Some(true);
        });
        Server::bind(name).config(config).open().expect("a server")
    });
    let (servers, mut workers): (Vec<_>, Vec<_>) = several.into_iter().unzip();
    let mut turn = || {
        workers.iter_mut().flatten().for_each(|worker| {
            worker.turn(&echo);
        })
    };
    let config = ClientConfig::default().slots(512).reply_bytes_max(3000);
    let connecting = std::thread::spawn(move || Client::connect_with(&*names.join(","), config));
    while !connecting.is_finished() {
        turn();
    }
    let mut client = connecting.join().expect("no panic").expect("a connection");
    for _ in 0..64 {
        client.submit(&[7; 3000]).expect("there is room");
    }
    while client.outstanding() > 0 {
        let _ = client.poll();
        turn();
    }
    stream(&mut client, 2_000, &mut turn);
    let before = counts();
    assert_eq!(stream(&mut client, 100_000, &mut turn), 100_000);
    assert_eq!(allocations_since(&before), 0, "of RPCs of a client of two servers");
    for server in servers {
        server.stop();
    }
}

/// Each RPC is suspended at its safe point while others wait.
fn handlers_that_take_turns() {
    let name = endpoint("allocations-in-turns");
    let config = unhurried_config(|config| {
        (config.inline, config.policy) = (Some(true), "preemptive:1ns".parse().expect("a policy"));
    });
    let (server, mut worker) = open_one(&name, config);
    let turn = || {
        worker.turn(&|request: &[u8], reply: &mut Reply<'_>| {
            reply.yield_if_due();
            echo(request, reply);
        });
    };
    assert_eq!(allocations_of(&name, 200_000, turn), 0, "of RPCs that take turns");
    server.stop();
}

fn servers_with_threads() {
    for (policy, workers) in
        [(Policy::Jbsq(2), 1), (Policy::McsLock, 1), (Policy::McsLock, 2), (Policy::WorkStealing, 2)]
    {
        let name = endpoint(&format!("allocations-{workers}-{}", policy.to_string().replace(':', "-")));
        let config = unhurried_config(|config| {
            (config.policy, config.workers) = (policy, workers);
        });
        let server = Server::bind(&name).config(config).serve(echo).expect("a server");
        let allocations = allocations_of(&name, 1_000, std::thread::yield_now);
        assert_eq!(allocations, 0, "of RPCs with {workers} workers under {policy}");
        server.stop();
    }
}

fn groups() {
    let name = endpoint("allocations-in-groups");
    let config = unhurried_config(|config| {
        (config.policy, config.workers) = ("altocumulus:2".parse().expect("a policy"), 2);
        config.migration.waiting_max = Some(2);
    });
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let limit = Limit::new("an RPC to move");
    while server.status().read().migrated_out == 0 {
        limit.check();
        assert_eq!(allocations_of(&name, 1_000, std::thread::yield_now), 0, "of RPCs that move between groups");
    }
    server.stop();
}
