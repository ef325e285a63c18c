//! Long RPCs run in the server's pool: short ones pass them, excess ones are refused instead of
//! queued, and each ends once with its own result.

use crate::support::exchange::ends_of;
use crate::support::{KINDS, endpoint, endpoints, patient_client, server_config};
use nebula::{
    CallError, Class, Client, Description, Executed, Fault, NackReason, Reply, RetryPolicy, RunningServer, ServeError,
    Server, ServerConfig, Service, Span,
};
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// All requests are long except those that begin with `s`. Long ones wait until the gate is open.
#[derive(Default)]
struct Gated {
    is_open: Mutex<bool>,
    opened: Condvar,
    began: AtomicU32,
    ended: AtomicU32,
}

impl Gated {
    fn open(&self) {
        *self.is_open.lock().expect("not poisoned") = true;
        self.opened.notify_all();
    }
}

struct Long(Arc<Gated>);

impl Service for Long {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match request.first() {
            Some(b's') => return reply.write(request),
            Some(b'p') => std::panic::resume_unwind(Box::new("meant")),
            Some(b'b') => spin(Duration::from_millis(1)),
            Some(b't') => return reply.later().expect("a pool's replies are later ones").answer(b"later still"),
            Some(b'u') => drop(reply.later()),
            Some(b'r') => reply.refuse(),
            Some(b'x') => return reply.write(&vec![1; reply.capacity() + 1]),
            _ => {
                self.0.began.fetch_add(1, Ordering::Relaxed);
                let gate = self.0.is_open.lock().expect("not poisoned");
                drop(self.0.opened.wait_while(gate, |is_open| !*is_open).expect("not poisoned"));
                self.0.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        reply.write(request);
    }

    fn describe(&self) -> Description {
        let class = |request: &[u8]| if request.first() == Some(&b's') { Class::Dispatch } else { Class::Worker };
        Description::default().classes(class)
    }
}

fn serve(at: &str, change: impl FnOnce(&mut ServerConfig)) -> (RunningServer, Arc<Gated>) {
    let config = server_config(|config| {
        (config.pool_max, config.slo, config.service_mean) = (4, Span::from_secs(3600), Span::from_secs(1));
        change(config);
    });
    let gated = Arc::new(Gated::default());
    (Server::bind(at).config(config).serve(Long(gated.clone())).expect("a server"), gated)
}

/// Runs `test` over both transports with each kind of server.
fn with_servers(name: &str, test: impl Fn(&str, RunningServer, Arc<Gated>)) {
    for (kind, change) in &KINDS[..3] {
        for at in endpoints(&format!("pool-{name}")) {
            let (server, gated) = serve(&at, change);
            test(&format!("{kind}, {at}"), server, gated);
        }
    }
}

fn client(server: &RunningServer) -> Client {
    let config = patient_client().slots(64);
    Client::connect_with(server.endpoint().clone(), config).expect("a connection")
}

#[test]
fn short_ones_pass_a_long_one() {
    let _watchdog = Watchdog::new("short ones");
    with_servers("short", |name, server, gated| {
        let (mut waits, mut asks) = (client(&server), client(&server));
        let ticket = waits.submit(b"long").expect("room");
        waits.flush();
        wait_until("it to begin", || {
            let _ = waits.poll();
            (gated.began.load(Ordering::Relaxed) == 1).then_some(())
        });
        for _ in 0..200 {
            assert_eq!(asks.call(b"short"), Ok(&b"short"[..]), "{name}");
        }
        assert_eq!((gated.ended.load(Ordering::Relaxed), server.pool().expect("one").held), (0, 1), "{name}");
        gated.open();
        assert_eq!(ends_of(&mut waits, 1)[&ticket], Ok(b"long".to_vec()), "{name}");
        server.stop();
    });
}

#[test]
fn what_the_pool_cannot_take_is_refused_while_the_others_wait_and_is_not_executed() {
    let _watchdog = Watchdog::new("refused");
    with_servers("refused", |name, server, gated| {
        let mut client = client(&server);
        for _ in 0..20 {
            client.submit(b"long").expect("room");
        }
        client.flush();
        // The gate is shut: no refusal waits for a reply.
        let refused = ends_of(&mut client, 16);
        let nack = CallError::Nack { reason: NackReason::QueueBound };
        assert!(refused.values().all(|end| *end == Err(nack.clone())), "{name}: {refused:?}");
        assert_eq!((refused.len(), nack.was_executed()), (16, Executed::No));
        assert_eq!(client.outstanding(), 4, "{name}");
        gated.open();
        let served = ends_of(&mut client, 4);
        assert!(served.values().all(|end| *end == Ok(b"long".to_vec())), "{name}: {served:?}");
        let pool = server.pool().expect("one");
        assert_eq!((pool.served, pool.refused, pool.held), (4, 16, 0), "{name}");
        assert_eq!(gated.ended.load(Ordering::Relaxed), 4, "{name}");
        wait_until("no slots used", || (server.status().read().slots_used == 0).then_some(()));
        let status = server.stop();
        assert_eq!((status.dispatched, status.freed), (20, 20), "{name}: {status:?}");
    });
}

#[test]
fn a_client_that_tries_again_is_served_once_there_is_room_and_each_rpc_runs_once() {
    let _watchdog = Watchdog::new("retries");
    with_servers("retries", |name, server, gated| {
        let retry = RetryPolicy::BackOff { first: Span::from_ms(1), factor: 1, attempts: u32::MAX, seed: 1 };
        let config = patient_client().slots(64).retry(retry);
        let mut client = Client::connect_with(server.endpoint().clone(), config).expect("a connection");
        for _ in 0..12 {
            client.submit(b"long").expect("room");
        }
        client.flush();
        wait_until("some to be refused", || {
            assert!(client.poll().is_none(), "{name}: the gate is shut");
            (server.pool().expect("one").refused >= 8).then_some(())
        });
        gated.open();
        let ends = ends_of(&mut client, 12);
        assert!(ends.values().all(|end| *end == Ok(b"long".to_vec())), "{name}: {ends:?}");
        assert_eq!(gated.ended.load(Ordering::Relaxed), 12, "{name}: each has run once");
        server.stop();
    });
}

#[test]
fn each_end_of_a_handler_in_the_pool_is_what_its_client_is_told() {
    let _watchdog = Watchdog::new("ends");
    with_servers("ends", |name, server, _| {
        let mut client = client(&server);
        for _ in 0..20 {
            let fault = |fault| Err(CallError::Fault(fault));
            assert_eq!(client.call(b"panics"), fault(Fault::HandlerPanicked), "{name}");
            assert_eq!(client.call(b"unanswered"), fault(Fault::Unanswered), "{name}");
            assert_eq!(client.call(b"x: too long"), fault(Fault::ReplyTooLarge), "{name}");
            assert_eq!(client.call(b"refuses"), Err(CallError::Nack { reason: NackReason::QueueBound }), "{name}");
            assert_eq!(client.call(b"takes"), Ok(&b"later still"[..]), "{name}");
            assert_eq!(client.call(b"busy"), Ok(&b"busy"[..]), "{name}");
        }
        wait_until("no slots used", || (server.status().read().slots_used == 0).then_some(()));
        server.stop();
    });
}

#[test]
fn a_server_that_stops_waits_for_its_pool() {
    let _watchdog = Watchdog::new("a stop");
    with_servers("stop", |name, server, gated| {
        let mut client = client(&server);
        for _ in 0..3 {
            client.submit(b"long").expect("room");
        }
        client.flush();
        wait_until("all to be taken on", || {
            let _ = client.poll();
            (server.pool().expect("one").held == 3).then_some(())
        });
        let stopper = server.stopper();
        let stops = std::thread::spawn(move || server.stop());
        wait_until("it to stop", || stopper.is_stopped().then_some(()));
        assert_eq!(gated.ended.load(Ordering::Relaxed), 0);
        gated.open();
        let ends = ends_of(&mut client, 3);
        assert!(ends.values().all(|end| *end == Ok(b"long".to_vec())), "{name}: {ends:?}");
        stops.join().expect("no panic");
        assert_eq!(gated.ended.load(Ordering::Relaxed), 3, "{name}");
    });
}

#[test]
fn a_pool_takes_on_what_keeps_the_slo_by_what_it_measures() {
    let _watchdog = Watchdog::new("measured");
    let (server, _) = serve(&endpoint("pool-slo"), |config| {
        (config.pool_max, config.slo, config.inline) = (60, Span::from_ms(10), Some(true));
    });
    let mut client = client(&server);
    assert_eq!(server.pool().expect("one").bound, 60);
    for _ in 0..60 {
        assert_eq!(client.call(b"busy for a millisecond"), Ok(&b"busy for a millisecond"[..]));
    }
    let pool = server.pool().expect("one");
    // 7 ms of the 10 remain for waiting and service; pauses of the machine reduce that.
    assert!((1..=3).contains(&pool.bound), "{pool:?}");
    assert!(pool.service.is_some_and(|service| service >= Span::from_us(900)), "{pool:?}");
    server.stop();
}

#[test]
fn without_threads_everything_runs_where_it_arrives() {
    for (threads, waiting) in [(Some(0), 0), (None, 1)] {
        let (server, gated) = serve(&endpoint("no-pool"), |config| {
            (config.pool_threads, config.inline) = (threads, Some(true));
        });
        assert_eq!(server.pool().map_or(0, |pool| pool.threads), waiting);
        gated.open();
        assert_eq!(client(&server).call(b"long"), Ok(&b"long"[..]));
        server.stop();
    }
    // This policy gives a worker no further RPC meanwhile.
    let config = server_config(|config| config.policy = "rss".parse().expect("a policy"));
    let refused = Server::bind(&endpoint("no-pool")).config(config).serve(Long(Arc::default()));
    assert!(matches!(refused, Err(ServeError::LaterPolicy { .. })));
}

/// Lets one long RPC through per permission.
#[derive(Default)]
struct Turnstile {
    free: Mutex<u32>,
    freed: Condvar,
}

impl Turnstile {
    fn let_through(&self, rpcs: u32) {
        *self.free.lock().expect("not poisoned") += rpcs;
        self.freed.notify_all();
    }
}

struct OneByOne(Arc<Turnstile>);

impl Service for OneByOne {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let free = self.0.free.lock().expect("not poisoned");
        let mut free = self.0.freed.wait_while(free, |free| *free == 0).expect("not poisoned");
        *free -= 1;
        drop(free);
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().classes(|_| Class::Worker)
    }
}

#[test]
fn a_client_that_asks_for_more_than_its_share_of_a_pool_leaves_room_for_others() {
    let _watchdog = Watchdog::new("shares of a pool");
    for (kind, change) in &KINDS[..3] {
        let config = server_config(|config| {
            (config.pool_max, config.slo, config.service_mean) = (16, Span::from_ms(60_000), Span::from_ms(1));
            change(config);
        });
        let turnstile = Arc::new(Turnstile::default());
        let service = OneByOne(turnstile.clone());
        let server = Server::bind(&endpoint("pool-shares")).config(config).serve(service).expect("a server");
        let pool = || server.pool().expect("one");
        let held = |held| wait_until("what is held", || (pool().held == held).then_some(()));
        let (mut heavy, mut light) = (client(&server), client(&server));
        let refused = |client: &mut Client| {
            let ticket = client.submit(b"one more").expect("room");
            let ends = ends_of(client, 1);
            assert_eq!(ends[&ticket], Err(CallError::Nack { reason: NackReason::QueueBound }), "{kind}");
        };
        // A client alone may have the whole pool.
        for _ in 0..16 {
            heavy.submit(b"long").expect("room");
        }
        held(16);
        refused(&mut heavy);
        refused(&mut light);
        // The free place is kept for the client that has had less.
        turnstile.let_through(1);
        assert_eq!(ends_of(&mut heavy, 1).len(), 1);
        held(15);
        refused(&mut heavy);
        let ticket = light.submit(b"light").expect("room");
        held(16);
        // Because it has had less, it is served before those that waited longer, right after the
        // one that runs.
        turnstile.let_through(2);
        assert_eq!(ends_of(&mut light, 1)[&ticket], Ok(b"light".to_vec()), "{kind}");
        turnstile.let_through(14);
        assert_eq!(ends_of(&mut heavy, 15).len(), 15);
        wait_until("the count", || (pool().served == 17).then_some(()));
        assert_eq!(pool().refused, 3, "{kind}");
        server.stop();
    }
}

/// All its requests are long; answers with the name of the serving thread.
struct Named;

impl Service for Named {
    fn serve(&self, _: &[u8], reply: &mut Reply<'_>) {
        reply.write(std::thread::current().name().unwrap_or_default().as_bytes());
    }

    fn describe(&self) -> Description {
        Description::default().classes(|_| Class::Worker)
    }
}

#[test]
fn long_ones_are_served_where_they_arrive_only_where_there_is_no_pool() {
    let _watchdog = Watchdog::new("where they are served");
    for (pool_threads, thread) in [(0, b"nebula-worker-0".as_slice()), (1, b"nebula-pool-0")] {
        let config = server_config(|config| (config.pool_threads, config.inline) = (Some(pool_threads), Some(true)));
        let server = Server::bind(&endpoint("served-by")).config(config).serve(Named).expect("a server");
        let mut client = client(&server);
        (0..10).for_each(|_| assert_eq!(client.call(b"long"), Ok(thread)));
        server.stop();
    }
}
