//! `mcs-lock` and `work-stealing` in real time: the first has no engine thread, in the second RPCs
//! change their worker. Each RPC is answered once.

use crate::support::draw::Draw;
use crate::support::exchange::exchange;
use crate::support::{endpoint, unhurried_config, wait_until_clean};
use nebula::{CallError, Client, ClientConfig, Fault, Policy, Reply, Server, ServerConfig, Status, Stopper, Worker};
use nebula_testing::wait::{Watchdog, wait_until};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

const POLICIES: [Policy; 2] = [Policy::McsLock, Policy::WorkStealing];

fn name_of(policy: Policy, workers: u16) -> String {
    format!("{policy}-{workers}")
}

/// A server whose queue is long enough for any machine.
fn config(policy: Policy, workers: u16) -> ServerConfig {
    unhurried_config(|config| {
        (config.policy, config.workers) = (policy, workers);
        (config.mtu_bytes, config.rpc_bytes_max) = (128, 2048);
    })
}

/// First bytes of a request that make the handler fail.
const PANICS: u8 = 0xFE;
const DROPS_REPLY: u8 = 0xFD;

/// Answers with the request backwards.
fn reverse(request: &[u8], reply: &mut Reply<'_>) {
    match request.first() {
        Some(&PANICS) => std::panic::resume_unwind(Box::new("as the request asks")),
        Some(&DROPS_REPLY) => reply.write(&[0; 4096]),
        _ => reply.write(&request.iter().rev().copied().collect::<Vec<u8>>()),
    }
}

/// Sends `rpcs` requests of all lengths, some of which make the handler fail, and checks each end.
fn check_every_end(endpoint: &str, seed: u64, rpcs: usize) {
    let config = ClientConfig::default().slots(256).reply_bytes_max(2048);
    let mut client = Client::connect_with(endpoint, config).expect("a connection");
    let mut draw = Draw::new(seed);
    let request = |_| {
        let bytes = if draw.once_in(8) { draw.below(2049) } else { draw.below(129) };
        let mut request = draw.bytes(bytes);
        if let (Some(first), true) = (request.first_mut(), draw.once_in(32)) {
            *first = if draw.once_in(2) { PANICS } else { DROPS_REPLY };
        }
        request
    };
    exchange(&mut client, rpcs, usize::MAX, request, |request, end| match request.first() {
        Some(&PANICS) => assert_eq!(end, Err(CallError::Fault(Fault::HandlerPanicked))),
        Some(&DROPS_REPLY) => assert_eq!(end, Err(CallError::Fault(Fault::ReplyTooLarge))),
        _ => assert!(end.expect("a reply").iter().eq(request.iter().rev())),
    });
}

#[test]
fn every_rpc_is_answered_once_with_its_own_payload() {
    let _watchdog = Watchdog::new("every RPC is answered once");
    for (policy, workers) in POLICIES.into_iter().flat_map(|policy| [(policy, 1), (policy, 2)]) {
        let name = endpoint(&format!("policies-{}", name_of(policy, workers)));
        let server = Server::bind(&name).config(config(policy, workers)).serve(reverse).expect("a server");
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let name = &name;
                scope.spawn(move || check_every_end(name, seed, 2_000));
            }
        });
        let status = wait_until_clean(server.status(), 0);
        assert_eq!((status.completed, status.dispatched, status.freed), (6_000, 6_000, 6_000), "{policy}");
        assert_eq!((status.nacked(), status.violations, status.slots_used), (0, 0, 0), "{policy}");
        assert!(policy == Policy::WorkStealing || status.stolen == 0, "{policy}: {status:?}");
        assert!(workers == 2 || status.stolen == 0, "nobody to steal from: {status:?}");
        server.stop();
    }
}

#[test]
fn one_worker_has_a_lock_or_thieves_with_inline_too() {
    let _watchdog = Watchdog::new("inline");
    for (policy, workers) in [(Policy::McsLock, 1), (Policy::McsLock, 2), (Policy::WorkStealing, 1)] {
        let name = endpoint(&format!("policies-inline-{}", name_of(policy, workers)));
        let server = Server::bind(&name).config(config(policy, workers)).inline(true).serve(crate::support::echo);
        let server = server.expect("a server");
        let mut client = Client::connect(&name).expect("a connection");
        for number in 0..500_u32 {
            assert_eq!(client.call(&number.to_le_bytes()).expect("an echo"), number.to_le_bytes());
        }
        server.stop();
    }
}

#[test]
fn a_server_that_stops_with_rpcs_in_flight_ends_and_tells_its_clients() {
    let _watchdog = Watchdog::new("a stop with RPCs in flight");
    for (policy, workers) in POLICIES.into_iter().flat_map(|policy| [(policy, 1), (policy, 2)]) {
        let name = endpoint(&format!("policies-stop-{}", name_of(policy, workers)));
        // All but the first end when the server stops.
        let (served, stops) = (Arc::new(AtomicU32::new(0)), Arc::new(OnceLock::<Stopper>::new()));
        let (count, stopper) = (served.clone(), stops.clone());
        let service = move |_: &[u8], reply: &mut Reply<'_>| {
            if count.fetch_add(1, Ordering::AcqRel) > 0 {
                wait_until("the stop", || stopper.get().is_some_and(Stopper::is_stopped).then_some(()));
            }
            reply.write(b"late");
        };
        let server = Server::bind(&name).config(config(policy, workers)).serve(service).expect("a server");
        stops.set(server.stopper()).expect("set once");
        let mut client = Client::connect(&name).expect("a connection");
        while client.submit(b"many of these").is_ok() {}
        wait_until("the first reply", || client.poll().map(|done| assert!(done.result.is_ok())));
        wait_until("another inside", || (served.load(Ordering::Acquire) > 1).then_some(()));
        let left = client.outstanding();
        let status = server.stop();
        assert!(status.freed < u64::from(left), "{policy}: nothing was in flight: {status:?}");
        let mut ended = 0;
        while ended < left {
            let done = wait_until("the other ends", || {
                client.poll().map(|done| matches!(done.result, Ok(_) | Err(CallError::ServerGone)))
            });
            assert!(done, "{policy}");
            ended += 1;
        }
    }
}

/// A server whose two workers the caller drives, a client, and RPCs in the queues of their home
/// cores.
struct ByHand {
    server: nebula::RunningServer,
    workers: Vec<Worker>,
    client: Client,
}

impl ByHand {
    fn start(test: &str, policy: Policy) -> Self {
        let name = endpoint(&format!("policies-by-hand-{test}"));
        let (server, workers) = Server::bind(&name).config(config(policy, 2)).open().expect("a server");
        Self { server, workers, client: Client::connect(&name).expect("a connection") }
    }

    fn served_by(&mut self, which: usize, rpcs: u32) {
        let Self { workers, client, .. } = self;
        let mut ended = 0;
        for number in 0..rpcs {
            client.submit(&number.to_le_bytes()).expect("room");
        }
        wait_until("all replies", || {
            workers[which].turn(&crate::support::echo);
            while let Some(done) = client.poll() {
                assert_eq!(done.result.expect("a reply").len(), 4);
                ended += 1;
            }
            (ended == rpcs).then_some(())
        });
    }

    /// The last counters, once `freed` RPCs are freed and no client is left.
    fn end(mut self, freed: u64) -> Status {
        drop(self.client);
        let status = wait_until("a clean page", || {
            self.workers.iter_mut().for_each(|worker| _ = worker.turn(&crate::support::echo));
            let status = self.server.status().read();
            (status.freed == freed && status.slots_used == 0 && status.clients == 0).then_some(status)
        });
        self.server.stop();
        status
    }
}

#[test]
fn what_one_flow_sends_to_a_busy_home_core_the_other_one_serves() {
    let _watchdog = Watchdog::new("stealing");
    let mut hand = ByHand::start("steal", Policy::WorkStealing);
    // One client is one flow with one home core: one of the two workers steals all that it serves.
    hand.served_by(0, 50);
    hand.served_by(1, 50);
    assert_eq!(hand.end(100).stolen, 50);
}

#[test]
fn a_busy_worker_is_stolen_from_while_it_serves() {
    let _watchdog = Watchdog::new("stealing from a busy worker");
    let name = endpoint("policies-busy");
    let (is_inside, may_leave) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, leave) = (is_inside.clone(), may_leave.clone());
    let server = Server::bind(&name).config(config(Policy::WorkStealing, 2)).serve(
        move |request: &[u8], reply: &mut Reply<'_>| {
            if request == b"hold" {
                inside.wait();
                leave.wait();
            }
            reply.write(std::thread::current().name().unwrap_or_default().as_bytes());
        },
    );
    let server = server.expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    client.submit(b"hold").expect("room");
    is_inside.wait();
    // From here one worker stays in the handler, and the other answers whichever worker an RPC was
    // dispatched to.
    let next = |client: &mut Client| {
        let reply = wait_until("a reply", || client.poll().map(|done| done.result.map(<[u8]>::to_vec)));
        String::from_utf8(reply.expect("a reply")).expect("a name")
    };
    let mut answered_by = BTreeMap::<_, u64>::new();
    for number in 0..200_u32 {
        client.submit(&number.to_le_bytes()).expect("room");
        *answered_by.entry(next(&mut client)).or_default() += 1;
    }
    may_leave.wait();
    let held = next(&mut client);
    assert!(answered_by.len() == 1 && !answered_by.contains_key(&held), "{held:?} was held: {answered_by:?}");
    let status = wait_until_clean(server.status(), 1);
    assert!(status.stolen == 200 || status.stolen == 1, "all but the held one, or the held one: {status:?}");
    server.stop();
}

#[test]
fn behind_the_lock_any_worker_alone_serves_everything() {
    let _watchdog = Watchdog::new("behind the lock");
    let mut hand = ByHand::start("lock", Policy::McsLock);
    hand.served_by(0, 50);
    hand.served_by(1, 50);
    assert_eq!(hand.end(100).stolen, 0);
}

#[test]
fn an_rpc_that_is_held_gives_its_slots_back_when_it_is_dropped() {
    let _watchdog = Watchdog::new("an RPC that is held");
    for policy in POLICIES {
        let mut hand = ByHand::start(&format!("held-{policy}"), policy);
        for _ in 0..100 {
            hand.client.submit(b"held").expect("room");
            let mut rpc = wait_until("an RPC", || hand.workers[0].try_wait_for_rpc());
            assert_eq!(rpc.payload(), b"held");
            rpc.rpc_send(b"answered");
            drop(rpc);
            let answer = wait_until("the reply", || hand.client.poll().map(|done| done.result.map(<[u8]>::to_vec)));
            assert_eq!(answer.expect("a reply"), b"answered");
        }
        hand.end(100);
    }
}
