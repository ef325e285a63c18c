//! Peers come, identify themselves, and go.

use crate::support::boxed::boxed;
use crate::support::{echo, endpoint, open_one, server_config, wait_until_clean};
use nebula::{
    Client, ClientConfig, ConnectError, IdlePolicy, Policy, Refusal, Reply, ServeError, Server, ServerConfig, Span,
};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::Barrier;

const CROWD: usize = 200;

#[test]
fn nobody_serves_a_name_that_nobody_serves() {
    let name = endpoint("nobody");
    let refused = Client::connect(&name).map(drop);
    assert!(matches!(refused, Err(ConnectError::NobodyServes { .. })), "{refused:?}");
}

#[test]
fn a_text_that_is_no_endpoint_is_said_at_once_by_both_sides() {
    for text in ["kv", "http://127.0.0.1:7400", "shm://", "shm://a/b"] {
        assert!(matches!(Client::connect(text), Err(ConnectError::Endpoint(_))), "{text}");
        assert!(matches!(Server::bind(text).serve(echo), Err(ServeError::Endpoint(_))), "{text}");
    }
}

#[test]
fn a_name_is_served_once_at_a_time_and_free_after_the_stop() {
    let _watchdog = Watchdog::new("a name is served once at a time");
    let name = endpoint("taken");
    let first = Server::bind(&name).inline(false).serve(echo).expect("a free name");
    for _ in 0..3 {
        assert!(matches!(Server::bind(&name).serve(echo), Err(ServeError::Taken { .. })));
        assert_eq!(Client::connect(&name).expect("the first still serves").call(b"who").expect("an echo"), b"who");
        wait_until_clean(first.status(), 0);
    }
    first.stop();
    let second = Server::bind(&name).inline(false).serve(echo).expect("free again at once");
    assert_eq!(Client::connect(&name).expect("the second serves").call(b"now").expect("an echo"), b"now");
    second.stop();
    assert!(matches!(Client::connect(&name), Err(ConnectError::NobodyServes { .. })));
}

#[test]
fn a_name_that_is_free_in_a_moment_is_waited_for() {
    let _watchdog = Watchdog::new("a name that is free in a moment");
    let name = endpoint("in-a-moment");
    let first = Server::bind(&name).inline(false).serve(echo).expect("a free name");
    // Imitates the start of a process, which holds all sockets until it becomes another program.
    let stops = std::thread::spawn(move || first.stop());
    Server::bind(&name).serve(echo).expect("the name, a moment later").stop();
    stops.join().expect("it stops");
}

#[test]
fn a_configuration_that_cannot_be_is_refused_in_one_line() {
    let name = endpoint("config");
    let refusals = [
        Server::bind(&name).inline(true).workers(2).serve(echo),
        Server::bind(&name).workers(0).serve(echo),
        Server::bind(&name).policy(Policy::Jbsq(0)).serve(echo),
        Server::bind(&name).rpc_bytes_max(u32::MAX).serve(echo),
        Server::bind(&name).config(server_config(|config| config.mtu_bytes = 0)).serve(echo),
        Server::bind(&name).config(server_config(|config| config.mtu_bytes = 2 << 20)).serve(echo),
        Server::bind(&name).config(server_config(|config| config.pin = vec![100_000])).serve(echo),
    ];
    for (which, refused) in refusals.into_iter().enumerate() {
        let said = refused.map(drop).expect_err("no such server").to_string();
        assert!(!said.is_empty() && !said.contains('\n'), "{which}: {said:?}");
    }
    Server::bind(&name).inline(false).serve(echo).expect("no refused server holds the name").stop();
}

#[test]
fn a_ring_that_cannot_be_is_refused_in_one_line() {
    let _watchdog = Watchdog::new("a ring that cannot be");
    let name = endpoint("rings");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    for slots in [0, 1, 3, 100, 1 << 17] {
        let refused = Client::connect_with(&name, ClientConfig::default().slots(slots)).map(drop);
        assert!(matches!(refused, Err(ConnectError::Refused(Refusal::Slots))), "{slots}: {refused:?}");
    }
    let too_large = ClientConfig::default().slots(4).reply_bytes_max(5 * 4096);
    assert!(matches!(Client::connect_with(&name, too_large), Err(ConnectError::ReplyTooLarge { slots: 4, .. })));
    wait_until_clean(server.status(), 0);
    let mut smallest = Client::connect_with(&name, ClientConfig::default().slots(2)).expect("two slots are a ring");
    for number in 0..10_u8 {
        assert_eq!(smallest.call(&[number]).expect("an echo"), [number]);
    }
    server.stop();
}

#[test]
fn a_full_server_refuses_and_takes_the_next_when_one_leaves() {
    let _watchdog = Watchdog::new("a full server refuses");
    let name = endpoint("full");
    let config = server_config(|config| config.clients_max = 3);
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    for _ in 0..20 {
        let connect = || Client::connect(&name);
        let mut admitted: Vec<_> = (0..3).map(|_| connect().expect("a connection")).collect();
        assert!(matches!(connect(), Err(ConnectError::Refused(Refusal::TooManyClients))));
        for client in &mut admitted {
            assert_eq!(client.call(b"admitted").expect("an echo"), b"admitted");
        }
        drop(admitted.pop());
        // The client slot is free once the engine has forgotten the client.
        admitted.push(wait_until("the slot of a client that left", || connect().ok()));
        drop(admitted);
        wait_until_clean(server.status(), 0);
    }
    server.stop();
}

#[test]
fn two_hundred_clients_at_once_come_call_and_leave() {
    let _watchdog = Watchdog::new("two hundred clients");
    let name = endpoint("crowd");
    let server = Server::bind(&name).workers(2).serve(echo).expect("a server");
    let everyone_is_here = Barrier::new(CROWD);
    std::thread::scope(|scope| {
        for number in 0..CROWD {
            let (name, everyone_is_here) = (&name, &everyone_is_here);
            scope.spawn(move || visit(name, number, everyone_is_here));
        }
    });
    let status = wait_until_clean(server.status(), 0);
    assert_eq!((status.violations, status.abandoned, status.dropped), (0, 0, 0));
    assert_eq!((status.completed, status.dispatched, status.freed), (status.freed, status.freed, status.freed));
    assert!(status.freed >= 5 * CROWD as u64, "{status:?}");
    server.stop();
}

/// One of the crowd: calls a few times, waits for all others, and leaves with an RPC under way.
fn visit(name: &str, number: usize, everyone_is_here: &Barrier) {
    let mut client = Client::connect_with(name, ClientConfig::default().slots(8)).expect("a connection");
    for call in 0..5 {
        let request = format!("client {number} call {call}");
        // The whole crowd may exceed what the SLO allows to wait.
        let reply = wait_until("a reply", || client.call(request.as_bytes()).ok().map(<[u8]>::to_vec));
        assert_eq!(reply, request.as_bytes());
    }
    everyone_is_here.wait();
    client.submit(b"nobody waits for this").expect("room");
}

#[test]
fn the_status_page_says_what_happened() {
    let _watchdog = Watchdog::new("the status page");
    let name = endpoint("status");
    let server = Server::bind(&name).workers(2).slo(Span::from_us(500)).serve(echo).expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    assert_eq!((client.slo(), client.rpc_bytes_max()), (Span::from_us(500), 64 * 1024));
    assert!(client.ring_bytes() >= 256 * 4096);
    for number in 0..1000_u32 {
        assert_eq!(client.call(&number.to_le_bytes()).expect("an echo"), number.to_le_bytes());
    }
    // The page is written from time to time.
    wait_until("1000 RPCs served", || (client.status().unwrap().read().freed == 1000).then_some(()));
    let seen = wait_until_clean(server.status(), 1);
    assert_eq!(seen, client.status().unwrap().read(), "both sides read one page");
    assert_eq!((seen.packets, seen.completed, seen.dispatched, seen.freed), (1000, 1000, 1000, 1000));
    assert_eq!((seen.nacked(), seen.dropped, seen.abandoned, seen.violations), (0, 0, 0, 0));
    assert_eq!((seen.workers, seen.clients, seen.slots_used, seen.queue_depth), (2, 1, 0, 0));
    assert_eq!(seen.buffer_bytes(), seen.slots * 64);
    // One RPC in service, and answered ones that are not freed yet: the workers' credits.
    assert!((1..=5).contains(&seen.slots_used_max), "{seen:?}");
    assert!(seen.queue_bound > 0 && seen.service > Span::ZERO, "{seen:?}");
    server.stop();
}

#[test]
fn a_pause_of_the_engine_is_listed_as_a_gap() {
    let _watchdog = Watchdog::new("a pause is a gap");
    let name = endpoint("gaps");
    let config = server_config(|config| (config.idle, config.inline) = (IdlePolicy::Spin, Some(true)));
    let (server, worker) = open_one(&name, config);
    let clock = nebula_sys::clock::Clock::new();
    assert!(worker.try_wait_for_rpc().is_none());
    let (before, from_ps) = (server.status().gaps_seen(), clock.now_ps());
    nebula_testing::wait::spin(std::time::Duration::from_millis(30));
    let to_ps = clock.now_ps();
    assert!(worker.try_wait_for_rpc().is_none());
    let gaps = server.status().gaps(before, clock);
    let covers = |gap: &&nebula::Gap| gap.from_ps <= from_ps && gap.to_ps >= to_ps;
    assert_eq!(gaps.iter().filter(covers).count(), 1, "{gaps:?} and a pause from {from_ps} to {to_ps}");
    assert!(gaps.iter().all(|gap| gap.from_ps < gap.to_ps));
    assert!(gaps.is_sorted_by_key(|gap| gap.from_ps));
    server.stop();
}

#[test]
fn replies_that_no_span_can_describe_are_refused_when_connecting() {
    let _watchdog = Watchdog::new("too long a span");
    let endpoint = endpoint("peers-span");
    let server = Server::bind(&endpoint).config(server_config(|config| config.mtu_bytes = 48));
    let server = server.serve(boxed(|request: &[u8], reply: &mut Reply| reply.write(request))).expect("a server");
    let config = ClientConfig::default().slots(1 << 16).reply_bytes_max(48 * 4096);
    let refused = Client::connect_with(&endpoint, config.clone());
    assert!(matches!(refused, Err(ConnectError::ReplyTooLarge { .. })), "{refused:?}");
    let mut longest = Client::connect_with(&endpoint, config.reply_bytes_max(48 * 4095)).expect("a span of 4095 slots");
    for _ in 0..40 {
        assert_eq!(longest.call(b"again and again").expect("a reply"), b"again and again");
    }
    server.stop();
}

/// RPCs that a client with this configuration can have outstanding.
fn room_at(server: &str, config: ClientConfig) -> u32 {
    let mut client = Client::connect_with(server, config).expect("a connection");
    while client.submit(b"").is_ok() {}
    client.outstanding()
}

#[test]
fn a_ring_has_room_for_twice_what_the_server_lets_wait_unless_the_client_says_how_much() {
    for (slo, room) in [(Span::from_us(100), 256), (Span::from_ms(3), 512), (Span::from_secs(1), 1024)] {
        let at = endpoint(&format!("room-{room}"));
        let config = ServerConfig::default().inline(true).slo(slo).service_mean(Span::from_us(10));
        // It serves nothing, so that what is outstanding stays so.
        let (server, worker) = open_one(&at, config);
        assert_eq!(room_at(&at, ClientConfig::default()), room, "{slo}");
        assert_eq!(room_at(&at, ClientConfig::default().slots_max(300)), 256, "{slo}");
        assert_eq!(room_at(&at, ClientConfig::default().slots(64)), 64, "{slo}");
        drop(worker);
        server.stop();
    }
}
