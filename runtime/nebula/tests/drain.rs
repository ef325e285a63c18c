//! A draining server answers the RPCs that it has, refuses later ones, and loses none.

use crate::support::{endpoint, server_config};
use nebula::{CallError, Client, ClientConfig, NackReason, Reply, RetryPolicy, Server, ServerConfig, Span};
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const LONG: Duration = crate::support::PATIENCE;

fn config(change: impl FnOnce(ServerConfig) -> ServerConfig) -> ServerConfig {
    change(server_config(|config| config.slo = Span::from_ms(50)))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Ends {
    sent: u64,
    replied: u64,
    nacked: u64,
    gone: u64,
    other: u64,
}

/// Sends as fast as possible until the server is gone, and counts the ends.
fn ask_until_gone(client: &mut Client, is_asking: &AtomicBool) -> Ends {
    let mut ends = Ends::default();
    let mut is_gone = false;
    while !is_gone || ends.sent > ends.replied + ends.nacked + ends.gone + ends.other {
        if !is_gone && client.submit(b"hello").is_ok() {
            ends.sent += 1;
        }
        while let Some(done) = client.poll() {
            match done.result {
                Ok(_) => {
                    ends.replied += 1;
                    is_asking.store(true, Ordering::Relaxed);
                }
                Err(CallError::Nack { reason: NackReason::QueueBound }) => ends.nacked += 1,
                Err(CallError::ServerGone) => {
                    ends.gone += 1;
                    is_gone = true;
                }
                Err(_) => ends.other += 1,
            }
        }
    }
    ends
}

#[test]
fn draining_under_load_loses_nothing_that_was_taken_in() {
    let _watchdog = Watchdog::new("draining under load");
    for (test, config) in [
        ("drain-inline", config(|config| config.inline(true))),
        ("drain-ring", config(|config| config.workers(2))),
        ("drain-flows", config(|config| config.flows(2))),
    ] {
        let name = endpoint(test);
        let executed = Arc::new(AtomicU64::new(0));
        let count = executed.clone();
        let server = Server::bind(&name).config(config).serve(move |request: &[u8], reply: &mut Reply<'_>| {
            spin(Duration::from_micros(2));
            count.fetch_add(1, Ordering::Relaxed);
            reply.write(request);
        });
        let server = server.expect("served");
        let is_asking = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..2)
            .map(|_| {
                let config = ClientConfig::default().slots(64).retry(RetryPolicy::GiveUp);
                let mut client = Client::connect_with(&name, config).expect("connected");
                let is_asking = is_asking.clone();
                std::thread::spawn(move || ask_until_gone(&mut client, &is_asking))
            })
            .collect();
        wait_until("replies", || is_asking.load(Ordering::Relaxed).then_some(()));
        assert!(server.drain(LONG), "{test}: {:?}", server.status().read());
        assert!(Client::connect(&name).is_err(), "{test}: nobody is let in");
        let last = server.stop();
        let ends: Vec<Ends> = clients.into_iter().map(|client| client.join().expect("asked")).collect();
        let replied: u64 = ends.iter().map(|ends| ends.replied).sum();
        // Each executed RPC was answered, and none that came after the server was gone was
        // executed.
        assert_eq!((replied, last.freed), (executed.load(Ordering::Relaxed), replied), "{test}: {ends:?}");
        assert!(
            ends.iter().all(|ends| ends.other == 0 && ends.sent == ends.replied + ends.nacked + ends.gone),
            "{ends:?}"
        );
    }
}

#[test]
fn another_server_may_have_the_endpoint_while_the_first_one_drains() {
    let name = endpoint("drain-successor");
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    let first = Server::bind(&name).inline(true).serve(echo).expect("served");
    let mut old = Client::connect_with(&name, ClientConfig::default().retry(RetryPolicy::GiveUp)).expect("connected");
    assert!(first.drain(LONG));
    let second = Server::bind(&name).inline(true).serve(echo).expect("the endpoint is free");
    assert_eq!(Client::connect(&name).expect("connected").call(b"new").expect("answered"), b"new");
    assert_eq!(old.call(b"old"), Err(CallError::Nack { reason: NackReason::QueueBound }));
    first.stop();
    second.stop();
}

#[test]
fn a_drain_that_takes_too_long_says_so() {
    let name = endpoint("drain-late");
    let (begun, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (has_begun, may_end) = (begun.clone(), end.clone());
    let server = Server::bind(&name).inline(false).serve(move |request: &[u8], reply: &mut Reply<'_>| {
        has_begun.store(true, Ordering::Relaxed);
        while !may_end.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        reply.write(request);
    });
    let server = server.expect("served");
    let mut client = Client::connect(&name).expect("connected");
    client.submit(b"long").expect("room");
    wait_until("the handler", || begun.load(Ordering::Relaxed).then_some(()));
    assert!(!server.drain(Duration::from_millis(20)));
    end.store(true, Ordering::Relaxed);
    assert!(server.drain(LONG));
    assert_eq!(
        wait_until("the reply", || client.poll().map(|done| done.result.map(<[u8]>::to_vec))),
        Ok(b"long".to_vec())
    );
    server.stop();
}
