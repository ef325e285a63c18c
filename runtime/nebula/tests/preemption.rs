//! Under `preemptive:Q` handlers take turns at their safe points, and nothing else about an RPC
//! changes.

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::exchange::exchange;
use crate::support::log_file::LogFile;
use crate::support::{endpoint, open_one, unhurried_config, wait_until_freed};
use nebula::{CallError, Client, ClientConfig, Fault, Reply, Server, ServerConfig, Ticket};
use nebula_nic::replay_text;
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A quantum that every RPC has used at its first safe point.
const AT_ONCE: &str = "preemptive:1ns";

/// A server that refuses nothing, however slow the machine is.
fn config(policy: &str, change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    unhurried_config(|config| {
        config.policy = policy.parse().expect("a policy");
        change(config);
    })
}

/// The number of handlers under way, and its maximum.
#[derive(Default)]
struct Gauge {
    inside: AtomicUsize,
    inside_max: AtomicUsize,
    entered: AtomicUsize,
}

struct Inside<'g>(&'g Gauge);

impl Gauge {
    fn enter(&self) -> Inside<'_> {
        let inside = self.inside.fetch_add(1, SeqCst) + 1;
        self.inside_max.fetch_max(inside, SeqCst);
        self.entered.fetch_add(1, SeqCst);
        Inside(self)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, SeqCst);
    }
}

const UNIT: Duration = Duration::from_micros(1);
/// Units of work of an RPC, with a safe point after each.
const LONG: u32 = 1000;
const SHORT: u32 = 5;
const LONG_ONES: u32 = 2;

/// A worker, its engine and its client on one thread. The time of a short RPC is the work done
/// between its request and its reply, so pauses of the machine do not count.
struct Bench {
    /// One for long RPCs and one for short ones: a client looks at its oldest RPC first.
    clients: [RefCell<Client>; 2],
    /// Units done by all handlers.
    clock: Cell<u64>,
    /// The short RPC under way, and when it was sent.
    short: Cell<Option<(Ticket, u64)>>,
    times: RefCell<Vec<u64>>,
    long_ones: Cell<u32>,
}

impl Bench {
    fn submit(&self, units: u32) -> Ticket {
        let client = &self.clients[usize::from(units == SHORT)];
        client.borrow_mut().submit(&units.to_le_bytes()).expect("room")
    }

    fn look(&self) {
        let [long, short] = &self.clients;
        while let Some(done) = long.borrow_mut().poll() {
            assert!(done.result.is_ok());
            self.long_ones.set(self.long_ones.get() - 1);
        }
        if let Some(done) = short.borrow_mut().poll() {
            let sent = self.short.take().filter(|short| short.0 == done.ticket).expect("one at a time").1;
            self.times.borrow_mut().push(self.clock.get() - sent);
        }
    }

    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let units = u32::from_le_bytes(request.try_into().expect("a number of units"));
        for unit in 0..units {
            spin(UNIT);
            self.clock.set(self.clock.get() + 1);
            self.look();
            if unit % 100 == 50 && self.short.get().is_none() {
                self.short.set(Some((self.submit(SHORT), self.clock.get())));
            }
            reply.yield_if_due();
        }
        reply.write(request);
    }
}

/// The median time of a short RPC among long ones at one worker, in units of work.
fn short_median(policy: &str) -> u64 {
    let name = endpoint(&format!("short-{}", policy.replace(':', "-")));
    let config = config(policy, |config| config.inline = Some(true));
    let (server, mut worker) = open_one(&name, config);
    let clients = [(); 2].map(|()| Client::connect(&name).expect("a connection").into());
    let (clock, short, times, long_ones) = Default::default();
    let bench = Bench { clients, clock, short, times, long_ones };
    while bench.times.borrow().len() < 101 {
        while bench.long_ones.get() < LONG_ONES {
            bench.submit(LONG);
            bench.long_ones.set(bench.long_ones.get() + 1);
        }
        worker.turn(&|request: &[u8], reply: &mut Reply<'_>| bench.serve(request, reply));
        bench.look();
    }
    server.stop();
    let mut times = bench.times.into_inner();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn short_rpcs_do_not_wait_for_long_ones_at_the_same_worker() {
    let _watchdog = Watchdog::new("short RPCs");
    let (beside, behind) = (short_median("preemptive:5us"), short_median("single-queue"));
    // A quantum is at most five units: two rounds of the long RPCs and one of the short one.
    let at_most = u64::from(5 * (2 * LONG_ONES + 1) + SHORT);
    assert!((u64::from(SHORT)..=at_most).contains(&beside), "{beside} units beside long ones");
    assert!(behind > 10 * beside, "{behind} units behind long ones, {beside} beside them");
}

/// Echoes the request in pieces, with a safe point after each.
fn echo_in_pieces(request: &[u8], reply: &mut Reply<'_>, gauge: &Gauge) {
    let _inside = gauge.enter();
    for piece in request.chunks(64) {
        reply.write(piece);
        nebula::yield_if_due();
    }
    if request.first() == Some(&b'p') {
        std::panic::resume_unwind(Box::new("asked for"));
    }
}

/// Sends `rpcs` RPCs of all sizes, many at once, and checks each end.
fn load(endpoint: &str, seed: u64, rpcs: usize) {
    let config = ClientConfig::default().slots(512).reply_bytes_max(3000);
    let mut client = Client::connect_with(endpoint, config).expect("a connection");
    let mut draw = Draw::new(seed);
    let request = |_| {
        let bytes = draw.below(3000);
        draw.bytes(bytes)
    };
    exchange(&mut client, rpcs, 40, request, |request, end| {
        let panics = request.first() == Some(&b'p');
        let expected = if panics { Err(CallError::Fault(Fault::HandlerPanicked)) } else { Ok(request) };
        assert!(end == expected, "{} bytes", request.len());
    });
}

#[test]
fn every_rpc_is_answered_once_and_whole_however_often_it_is_suspended() {
    let _watchdog = Watchdog::new("answered once and whole");
    for (inline, workers) in [(true, 1), (false, 1), (false, 2)] {
        let gauge = Arc::new(Gauge::default());
        let name = endpoint(&format!("pieces-{inline}-{workers}"));
        let log = LogFile::new("pieces");
        let config = config(AT_ONCE, |config| {
            (config.inline, config.workers, config.decision_log) = (Some(inline), workers, Some(log.0.clone()));
        });
        let server = Server::bind(&name).config(config).serve(boxed({
            let gauge = gauge.clone();
            move |request: &[u8], reply: &mut Reply| echo_in_pieces(request, reply, &gauge)
        }));
        let server = server.expect("a server");
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let name = &name;
                scope.spawn(move || load(name, seed, 1500));
            }
        });
        let status = wait_until_freed(server.status(), 3000);
        server.stop();
        assert_eq!((status.freed, status.violations), (3000, 0), "{status:?}");
        let most = gauge.inside_max.load(SeqCst);
        assert!(most > usize::from(workers), "no handler was suspended: at most {most} under way");
        assert!(replay_text(&log.text()).unwrap_or_else(|error| panic!("{error}")) >= 6000);
    }
}

#[test]
fn no_more_handlers_are_under_way_than_there_are_stacks() {
    let _watchdog = Watchdog::new("fiber slots");
    for suspended_max in [0, 3, 62] {
        let gauge = Arc::new(Gauge::default());
        let name = endpoint(&format!("slots-{suspended_max}"));
        let config = config(AT_ONCE, |config| (config.inline, config.suspended_max) = (Some(true), suspended_max));
        let (server, mut worker) = open_one(&name, config);
        let mut client = Client::connect(&name).expect("a connection");
        for _ in 0..100 {
            client.submit(&[7; 500]).expect("room");
        }
        let mut served = 0;
        while served < 100 {
            served += worker.turn(&|request: &[u8], reply: &mut Reply<'_>| echo_in_pieces(request, reply, &gauge));
            assert_eq!(gauge.inside.load(SeqCst), 0, "no RPC outlasts a turn");
        }
        let most = gauge.inside_max.load(SeqCst);
        assert_eq!(most, usize::from(suspended_max + 1), "with {suspended_max} suspended at most");
        while client.outstanding() > 0 {
            assert!(wait_until("an end", || client.poll().map(|done| done.result.is_ok())));
        }
        server.stop();
    }
    let config = config(AT_ONCE, |config| config.suspended_max = 63);
    let error = Server::bind("shm://e2e-slots").config(config).open().expect_err("too many");
    assert!(error.to_string().contains("62"), "{error}");
}

#[test]
fn handlers_that_are_suspended_as_the_server_stops_are_unwound() {
    let _watchdog = Watchdog::new("suspended at the stop");
    for inline in [true, false] {
        let gauge = Arc::new(Gauge::default());
        let name = endpoint(&format!("stop-{inline}"));
        let server = Server::bind(&name).config(config(AT_ONCE, |config| config.inline = Some(inline))).serve(boxed({
            let gauge = gauge.clone();
            move |_: &[u8], _: &mut Reply| {
                let _inside = gauge.enter();
                loop {
                    nebula::yield_if_due();
                }
            }
        }));
        let server = server.expect("a server");
        let mut client = Client::connect(&name).expect("a connection");
        for _ in 0..5 {
            client.submit(b"endless").expect("room");
        }
        wait_until("all five", || (gauge.inside.load(SeqCst) == 5).then_some(()));
        let status = server.stop();
        assert_eq!(gauge.inside.load(SeqCst), 0, "their values were dropped");
        assert!(!inline || (status.freed, status.slots_used) == (5, 0), "{status:?}");
        assert_eq!(
            wait_until("an end", || client.poll().map(|done| done.result.map(<[u8]>::to_vec))),
            Err(CallError::ServerGone)
        );
    }
}

#[test]
fn a_client_that_leaves_harms_no_handler_that_is_suspended() {
    let _watchdog = Watchdog::new("a client that leaves");
    let (is_open, read) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let name = endpoint("leaves");
    let server = Server::bind(&name).config(config(AT_ONCE, |_| ())).serve(boxed({
        let (is_open, read) = (is_open.clone(), read.clone());
        move |request: &[u8], reply: &mut Reply| {
            while request.len() > 1 && !is_open.load(SeqCst) {
                nebula::yield_if_due();
            }
            reply.write(request);
            read.lock().expect("nobody panicked").push(request.to_vec());
        }
    }));
    let server = server.expect("a server");
    let mut other = Client::connect(&name).expect("a connection");
    let mut leaves = Client::connect(&name).expect("a connection");
    for byte in 1..=4 {
        leaves.submit(&[byte; 500]).expect("room");
    }
    wait_until("all four given out", || {
        assert_eq!(other.call(b"x").expect("a reply"), b"x");
        (server.status().read().dispatched >= 4).then_some(())
    });
    drop(leaves);
    for _ in 0..100 {
        assert_eq!(other.call(b"x").expect("a reply"), b"x");
    }
    is_open.store(true, SeqCst);
    drop(other);
    wait_until_freed(server.status(), 4);
    server.stop();
    let mut long: Vec<_> =
        read.lock().expect("nobody panicked").drain(..).filter(|request| request.len() > 1).collect();
    long.sort_unstable();
    assert_eq!(long, [1, 2, 3, 4].map(|byte| vec![byte; 500]));
}

#[test]
fn a_safe_point_does_nothing_where_nobody_takes_turns() {
    let _watchdog = Watchdog::new("safe points elsewhere");
    nebula::yield_if_due();
    let name = endpoint("elsewhere");
    let gauge = Arc::new(Gauge::default());
    let server = Server::bind(&name).config(config("jbsq:2", |_| ())).serve(boxed({
        let gauge = gauge.clone();
        move |request: &[u8], reply: &mut Reply| echo_in_pieces(request, reply, &gauge)
    }));
    let server = server.expect("a server");
    load(&name, 7, 200);
    server.stop();
    assert_eq!(gauge.inside_max.load(SeqCst), 1);
}
