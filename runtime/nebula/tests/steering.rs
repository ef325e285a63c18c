//! The payload of the next RPC is fetched before its worker begins it, where a thread besides the worker's dispatches.

use crate::support::{endpoint, server_config};
use nebula::{Client, Reply, Server, Span, Status, Steering};
use nebula_testing::wait::{WAIT_MAX, Watchdog, wait_until};
use std::time::{Duration, Instant};

/// Kept outstanding, so that the worker never waits for a client.
const OUTSTANDING: u32 = 48;
/// RPCs of a round.
const ROUND: u64 = 500;

/// The counters after a round of each of `rounds`, whose RPCs take 3 µs; the engine has a thread besides this one.
fn rounds(test: &str, steering: Steering, rounds: usize, mut is_enough: impl FnMut(&Status, &Status) -> bool) -> bool {
    let name = endpoint(test);
    let config = server_config(|config| (config.steering, config.slo) = (steering, Span::from_ms(100)));
    let (server, mut workers) = Server::bind(&name).config(config).workers(1).open().expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(3) {}
        reply.write(request);
    };
    let mut before = Status::default();
    let was_enough = (0..rounds).any(|_| {
        let (mut sent, mut ended) = (0, 0);
        while ended < ROUND {
            while sent < ROUND && client.outstanding() < OUTSTANDING && client.submit(&[3; 500]).is_ok() {
                sent += 1;
            }
            workers[0].turn(&service);
            ended += std::iter::from_fn(|| client.poll().map(|done| done.result.is_ok())).map(u64::from).sum::<u64>();
        }
        let after = wait_until("the counters of the round", || {
            Some(server.status().read()).filter(|status| status.freed == before.freed + ROUND)
        });
        is_enough(&std::mem::replace(&mut before, after), &after)
    });
    server.stop();
    was_enough
}

#[test]
fn with_two_outstanding_most_payloads_are_fetched_before_their_rpcs_begin() {
    let _watchdog = Watchdog::new("steering");
    let mut best = 0.0_f64;
    let begun = Instant::now();
    // Where the engine has no core for a while, the worker waits for RPCs, and none is behind another: hence rounds until one had both.
    rounds("steered", Steering::On, usize::MAX, |before, after| {
        best = best.max((after.steered - before.steered) as f64 / ROUND as f64);
        best >= 0.7 || begun.elapsed() > WAIT_MAX
    });
    println!("of the best round's RPCs {best} were steered");
    assert!(best >= 0.7, "of the best round's RPCs {best} were steered");
}

#[test]
fn without_steering_none_is_fetched() {
    let _watchdog = Watchdog::new("no steering");
    assert!(!rounds("not-steered", Steering::Off, 2, |_, after| after.steered > 0));
}
