//! Clients that say nothing: the server leaves their rings, hears their doorbells, and sleeps when
//! all are quiet.

use crate::support::raw::{REPLY, RawRing, Slot, say};
use crate::support::{endpoint, open_one, server_config};
use nebula::{Client, IdlePolicy, Reply, RunningServer, Server, ServerConfig};
use nebula_sys::wake::WakeFlag;
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::atomic::{AtomicBool, Ordering};

/// More than a server looks at in every turn in any case.
const MANY: usize = 20;

fn serve(name: &str, change: impl FnOnce(&mut ServerConfig)) -> (String, RunningServer) {
    let endpoint = endpoint(name);
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    let server = Server::bind(&endpoint).config(server_config(change)).serve(echo).expect("a server");
    (endpoint, server)
}

fn wait_for_sleep(server: &RunningServer) {
    wait_until("the server's sleep", || server.status().is_asleep().then_some(()));
}

#[test]
fn an_idle_server_sleeps_and_each_of_its_clients_wakes_it() {
    let _watchdog = Watchdog::new("an idle server");
    for (name, inline, idle) in [
        ("inline", true, IdlePolicy::Adaptive),
        ("inline-block", true, IdlePolicy::Block),
        ("threads-block", false, IdlePolicy::Block),
        ("threads", false, IdlePolicy::Adaptive),
    ] {
        // Where the kernel lacks what makes that cheap, separate threads take naps.
        if name == "threads" && !WakeFlag::new().is_cheap_to_ask() {
            continue;
        }
        let (endpoint, server) =
            serve(&format!("quiet-{name}"), |config| (config.inline, config.idle) = (Some(inline), idle));
        wait_for_sleep(&server);
        let mut clients: Vec<_> = (0..MANY).map(|_| Client::connect(&endpoint).expect("a server")).collect();
        for client in &mut clients {
            wait_for_sleep(&server);
            assert_eq!(client.call(b"awake").expect("an answer"), b"awake", "{name}");
        }
        // One that has gone wakes it too, and the others are heard after that.
        wait_for_sleep(&server);
        drop(clients.pop());
        wait_until("one client fewer", || (server.status().read().clients == MANY as u64 - 1).then_some(()));
        wait_for_sleep(&server);
        assert_eq!(clients[0].call(b"again").expect("an answer"), b"again", "{name}");
        wait_for_sleep(&server);
        server.stop();
    }
}

#[test]
fn a_server_that_spins_does_not_sleep() {
    let (endpoint, server) =
        serve("quiet-spin", |config| (config.inline, config.idle) = (Some(true), IdlePolicy::Spin));
    let mut client = Client::connect(&endpoint).expect("a server");
    for _ in 0..1000 {
        assert_eq!(client.call(b"spin").expect("an answer"), b"spin");
        assert!(!server.status().is_asleep());
    }
}

/// A server with many clients of which one keeps it awake, and a raw client.
struct Scene {
    server: RunningServer,
    raw: RawRing,
    others: Vec<RawRing>,
    busy: Client,
    position: u32,
}

impl Scene {
    fn new(name: &str) -> Self {
        let (endpoint, server) = serve(name, |config| config.inline = Some(true));
        let raw = RawRing::connect_ringer(&endpoint, 16);
        let others = (0..MANY).map(|_| RawRing::connect_ringer(&endpoint, 16)).collect();
        let busy = Client::connect(&endpoint).expect("a server");
        Self { server, raw, others, busy, position: 0 }
    }

    fn keep_awake(&mut self) {
        self.busy.call(b"busy").expect("an answer");
    }

    fn wait_for_quiet(&mut self) {
        while !self.raw.is_quiet() {
            self.keep_awake();
        }
    }

    /// Writes a request, has `ring` called after it, and waits for the answer.
    fn ask(&mut self, ring: impl FnOnce(&RawRing)) {
        self.raw.put(self.position, Slot::request(8, 1));
        ring(&self.raw);
        while self.raw.answer(self.position).is_none() {
            self.keep_awake();
        }
        assert_eq!(self.raw.answer(self.position).map(|answer| answer.0), Some(REPLY));
        self.position += 1;
    }
}

#[test]
fn a_quiet_client_is_heard_by_its_doorbell_and_found_without_one() {
    let _watchdog = Watchdog::new("a quiet client");
    let mut scene = Scene::new("quiet-doorbell");
    for _ in 0..20 {
        scene.wait_for_quiet();
        scene.ask(RawRing::ring);
        scene.wait_for_quiet();
        scene.ask(|_| {});
    }
    assert_eq!(scene.server.status().read().violations, 0);
}

/// Turns after which an engine looks at an empty ring no more.
const UNTIL_QUIET: usize = 3_000;
/// Turns in which it looks at each of its quiet rings once.
const ROUND: usize = 64 * (MANY + 1);

/// By hand, so that turns are counted and no time.
#[test]
fn a_doorbell_is_heard_in_the_next_turn_and_a_ring_without_one_within_a_round() {
    let endpoint = endpoint("quiet-turns");
    let (server, mut worker) = open_one(&endpoint, server_config(|config| config.inline = Some(true)));
    let mut turn = || worker.turn(&|request: &[u8], reply: &mut Reply<'_>| reply.write(request));
    let raws: Vec<_> = (0..MANY).map(|_| RawRing::connect_ringer(&endpoint, 16)).collect();
    for (position, rings) in [(0, true), (1, false)] {
        for raw in &raws {
            wait_until("quiet rings", || {
                (0..UNTIL_QUIET).for_each(|_| _ = turn());
                raws.iter().all(RawRing::is_quiet).then_some(())
            });
            raw.put(position, Slot::request(8, 1));
            if rings {
                raw.ring();
            }
            let most = if rings { 1 } else { ROUND };
            let answered = (1..=most).find(|_| {
                turn();
                raw.answer(position).is_some()
            });
            assert!(answered.is_some(), "not after {most} turns");
        }
    }
    server.stop();
}

#[test]
fn a_client_that_takes_others_rings_away_or_rings_for_all_stops_nobody() {
    let _watchdog = Watchdog::new("a client that writes all doorbells");
    let mut scene = Scene::new("quiet-hostile");
    let hostile = scene.others.pop().expect("one of many");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in [0, u64::MAX, 0x5555].into_iter().cycle() {
                hostile.set_all_doorbells(value);
                // A byte wakes an engine that sleeps; one that is awake does not read it.
                let _ = say(&hostile.socket, b"awake");
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::yield_now();
            }
        });
        for _ in 0..50 {
            scene.ask(RawRing::ring);
            scene.ask(|_| {});
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(scene.server.status().read().violations, 0);
}
