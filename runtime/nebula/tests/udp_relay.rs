//! Real sockets with a bad link: a relay that loses, doubles, delays and changes datagrams.

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::exchange::{assert_echo, exchange, of_sizes};
use crate::support::patient_client;
use crate::support::relay::{Link, Relay};
use crate::support::{PATIENCE, echo, unhurried_config};
use nebula::{
    AsyncClient, CallError, Client, ClientConfig, Endpoint, Executed, Key, Keys, Reply, RetryPolicy, Server, Span,
};
use nebula_testing::wait::{Limit, Watchdog};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Calls over a link: each gets its own reply, and none runs twice.
fn call_over(link: Link, key: Option<Key>, calls: usize, seed: u64) {
    let runs: Arc<Mutex<HashMap<Vec<u8>, u32>>> = Arc::default();
    let seen = runs.clone();
    let config = unhurried_config(|config| {
        config.inline = Some(true);
        config.keys = key.clone().map_or_else(Keys::default, Keys::from);
        // The server keeps replies and incomplete requests long enough for a client on a busy
        // machine.
        config.retention_bytes = 64 << 20;
    });
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        *seen.lock().expect("one thread").entry(request.to_vec()).or_default() += 1;
        reply.write(request);
    };
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(boxed(service)).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, link, seed);
    let mut config = patient_client().deadline(PATIENCE);
    config.keys = key.map_or_else(Keys::default, Keys::from);
    // An RPC that was incomplete too long is refused and may be repeated.
    config.retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 10, seed };
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    let mut draw = Draw::new(seed);
    let request = |number: usize| {
        let mut request = of_sizes(&mut draw, &[16, 16, 100, 1088, 5000, 40_000]);
        request[..8].copy_from_slice(&number.to_le_bytes());
        request
    };
    exchange(&mut client, calls, 32, request, assert_echo);
    let status = server.stop();
    let runs = runs.lock().expect("stopped");
    assert!(runs.len() == calls && runs.values().all(|&runs| runs == 1), "some ran twice");
    assert!(link.lost == 0 || status.repeated > 0, "something was sent again: {status:?}");
    assert!(link.changed == 0 || status.violations > 0, "something was changed: {status:?}");
}

#[test]
fn a_link_that_loses_and_doubles_costs_no_call_and_runs_none_twice() {
    let _watchdog = Watchdog::new("a_link_that_loses_and_doubles_costs_no_call_and_runs_none_twice");
    call_over(Link { lost: 50, doubled: 50, ..Link::default() }, None, 1500, 1);
}

#[test]
fn a_link_that_reorders_and_changes_costs_no_call_and_runs_none_twice() {
    let _watchdog = Watchdog::new("a_link_that_reorders_and_changes_costs_no_call_and_runs_none_twice");
    call_over(Link { lost: 10, doubled: 20, held_back: 200, changed: 30, ..Link::default() }, None, 1500, 2);
}

#[test]
fn a_sealed_link_is_as_patient() {
    let _watchdog = Watchdog::new("a_sealed_link_is_as_patient");
    call_over(
        Link { lost: 30, doubled: 30, held_back: 100, changed: 30, ..Link::default() },
        Some(Key::new([5; 32])),
        300,
        3,
    );
}

#[test]
fn tasks_that_sleep_over_a_bad_link_get_their_replies() {
    let _watchdog = Watchdog::new("tasks_that_sleep_over_a_bad_link_get_their_replies");
    let config = unhurried_config(|config| {
        config.retention_bytes = 64 << 20;
    });
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(echo).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay =
        Relay::start(address, Link { lost: 100, doubled: 20, held_back: 100, changed: 10, ..Link::default() }, 5);
    let mut config = patient_client().slots(8);
    config.retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 10, seed: 5 };
    let client = AsyncClient::connect_with(&format!("udp://{}", relay.address), config).wait().expect("a client");
    let client = client.poll_for(Span::ZERO);
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("an executor");
    executor.block_on(async {
        let tasks: Vec<_> = (0..12_u8)
            .map(|task| {
                let client = client.clone();
                tokio::spawn(async move {
                    for call in 0..20_u8 {
                        let request =
                            vec![task.wrapping_mul(20).wrapping_add(call); if call % 5 == 0 { 5000 } else { 16 }];
                        assert!(client.call(&request).await.as_ref() == Ok(&request), "task {task}, call {call}");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("all answered");
        }
    });
    assert!(server.stop().repeated > 0, "something was sent again");
}

#[test]
fn a_link_that_is_gone_ends_every_call_by_its_deadline() {
    let _watchdog = Watchdog::new("a_link_that_is_gone_ends_every_call_by_its_deadline");
    let runs: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let seen = runs.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        seen.lock().expect("one thread").push(request.to_vec());
        echo(request, reply);
    };
    let server = Server::bind("udp://127.0.0.1:0").inline(false).serve(boxed(service)).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let relay = Relay::start(address, Link::default(), 1);
    let config = ClientConfig::default().deadline(Span::from_ms(200));
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    client.call(b"there").expect("an echo");
    drop(relay);
    // As many as there is room for, which is little after losses.
    let tickets: Vec<_> = (0..10_u8).map_while(|i| client.submit(&[i]).ok()).collect();
    assert!(!tickets.is_empty());
    let (limit, mut ended) = (Limit::new("the deadline"), Vec::new());
    while ended.len() < tickets.len() {
        limit.check();
        if let Some(done) = client.poll() {
            // An RPC held back by the window was not sent at all.
            let Err(error @ (CallError::TimedOut | CallError::Expired)) = done.result else {
                panic!("{:?}", done.result);
            };
            assert_ne!(error.was_executed(), Executed::Yes, "nothing has reached the server");
            ended.push(done.ticket);
        } else {
            std::thread::yield_now();
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, tickets, "each once");
    server.stop();
    assert_eq!(*runs.lock().expect("stopped"), [b"there"]);
}
