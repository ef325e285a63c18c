//! The payload of the next RPC is fetched before its worker begins it, if another thread
//! dispatches.

use crate::support::{endpoint, server_config};
use nebula::{Client, Reply, Server, Span, Status, Steering};
use nebula_testing::wait::{Limit, Watchdog, spin, wait_until};
use std::time::Duration;

/// Outstanding RPCs, so that the worker never waits for a client.
const OUTSTANDING: u32 = 48;
const ROUND: u64 = 500;

/// Runs at most `rounds` rounds until one is enough; the engine has its own thread.
fn rounds(test: &str, steering: Steering, rounds: usize, mut is_enough: impl FnMut(&Status) -> bool) -> bool {
    let name = endpoint(test);
    let config = server_config(|config| (config.steering, config.slo) = (steering, Span::from_ms(100)));
    let (server, mut workers) = Server::bind(&name).config(config).workers(1).open().expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        spin(Duration::from_micros(3));
        reply.write(request);
    };
    let limit = Limit::new("a payload that is fetched");
    let mut freed = 0;
    let was_enough = (0..rounds).any(|_| {
        limit.check();
        let (mut sent, mut ended) = (0, 0);
        while ended < ROUND {
            while sent < ROUND && client.outstanding() < OUTSTANDING && client.submit(&[3; 500]).is_ok() {
                sent += 1;
            }
            workers[0].turn(&service);
            ended += std::iter::from_fn(|| client.poll().map(|done| done.result.is_ok())).map(u64::from).sum::<u64>();
        }
        let after = wait_until("the counters of the round", || {
            Some(server.status().read()).filter(|status| status.freed == freed + ROUND)
        });
        freed = after.freed;
        is_enough(&after)
    });
    server.stop();
    was_enough
}

/// If the engine lacks a core, the worker waits and no RPC is behind another: hence several rounds.
#[test]
fn with_several_outstanding_payloads_are_fetched_before_their_rpcs_begin() {
    let _watchdog = Watchdog::new("steering");
    assert!(rounds("steered", Steering::On, usize::MAX, |status| status.steered > 0));
}

#[test]
fn without_steering_none_is_fetched() {
    let _watchdog = Watchdog::new("no steering");
    assert!(!rounds("not-steered", Steering::Off, 2, |status| status.steered > 0));
}
