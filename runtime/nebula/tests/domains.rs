//! Several messaging domains on one thread and on several: they are isolated, and no client reaches
//! another's domain.
//!
//! The tests of `nebula-nic` (lending) check that the shares follow the weights, and
//! `cargo xtask bench domains` measures it.

use nebula::{
    CallError, Class, Client, Completion, ConnectError, Description, Domains, Hint, Key, Refusal, Reply,
    RunningDomains, Server, ServerConfig, Service, Span,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::support::endpoint;
use crate::support::patient_client;
use nebula_testing::wait::{Watchdog, spin, wait_until};

/// A service whose RPCs take some time.
fn takes(time: Duration) -> impl Fn(&[u8], &mut Reply<'_>) + Send + 'static {
    move |request: &[u8], reply: &mut Reply<'_>| {
        spin(time);
        reply.write(request);
    }
}

fn server(name: &str, domain: u8) -> Server {
    let config =
        ServerConfig::default().inline(false).domain(domain).service_mean(Span::from_us(5)).slo(Span::from_ms(200));
    Server::bind(name).config(config)
}

/// Answers a long RPC with its thread, once the gate is open.
struct Long(Arc<AtomicBool>);

impl Service for Long {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        if request == b"long" {
            while !self.0.load(Relaxed) {
                std::thread::yield_now();
            }
            reply.write(std::thread::current().name().unwrap_or_default().as_bytes());
        } else {
            reply.write(request);
        }
    }

    fn describe(&self) -> Description {
        Description::default().classes(|request| if request == b"long" { Class::Worker } else { Class::Dispatch })
    }
}

#[test]
fn what_takes_long_runs_in_its_domains_pool_while_all_domains_are_served() {
    let _watchdog = Watchdog::new("a pool of a domain");
    for threads in [1, 2] {
        let names = [1, 2].map(|domain| endpoint(&format!("pool-{domain}-{threads}")));
        let gate = Arc::new(AtomicBool::new(false));
        let domains = Domains::default()
            .host(1, server(&names[0], 1), Long(gate.clone()))
            .host(1, server(&names[1], 2), takes(Duration::ZERO))
            .threads(threads)
            .serve()
            .expect("two domains");
        let client = |domain: u8| {
            let config = patient_client().domain(domain);
            Client::connect_with(&names[usize::from(domain) - 1], config).expect("its client")
        };
        let (mut waits, mut asks, mut other) = (client(1), client(1), client(2));
        waits.submit(b"long").expect("room");
        let held = || domains.servers()[0].pool().expect("one").held;
        while held() == 0 {
            std::thread::yield_now();
        }
        for _ in 0..100 {
            assert_eq!((asks.call(b"short"), other.call(b"short")), (Ok(&b"short"[..]), Ok(&b"short"[..])));
        }
        assert_eq!((held(), domains.servers()[1].pool()), (1, None));
        // The pool answers the RPCs that it has taken, although the domains stop.
        let stopper = domains.servers()[0].stopper();
        let stops = std::thread::spawn(move || domains.stop());
        while !stopper.is_stopped() {
            std::thread::yield_now();
        }
        gate.store(true, Relaxed);
        let reply = loop {
            if let Some(Completion { result, .. }) = waits.poll() {
                break result.map(<[u8]>::to_vec);
            }
        };
        assert_eq!(reply, Ok(b"nebula-pool-0".to_vec()));
        stops.join().expect("no panic");
    }
}

#[test]
fn a_domain_is_not_taken_for_another() {
    let _watchdog = Watchdog::new("domains");
    let name = endpoint("domain-7");
    let keyed = ServerConfig::default().inline(false).domain(9).key(Key::new([3; 32]));
    let domains = Domains::default()
        .host(1, server(&name, 7), takes(Duration::ZERO))
        .host(
            1,
            Server::bind("udp://127.0.0.1:0").config(ServerConfig::default().inline(false).domain(8)),
            takes(Duration::ZERO),
        )
        .host(1, Server::bind("udp://127.0.0.1:0").config(keyed), takes(Duration::ZERO))
        .serve()
        .expect("three domains");
    let endpoints: Vec<_> = domains.servers().iter().map(|server| server.endpoint().clone()).collect();
    let config = |domain: u8| {
        let config = patient_client().domain(domain);
        if domain == 9 { config.key(Key::new([3; 32])) } else { config }
    };
    for (endpoint, domain) in endpoints.iter().zip(7..) {
        let mut client = Client::connect_with(endpoint, config(domain)).expect("its client");
        assert_eq!(client.call(b"mine"), Ok(&b"mine"[..]), "{endpoint}");
    }
    let refused = Client::connect_with(&endpoints[0], config(0)).expect_err("another domain");
    assert!(matches!(refused, ConnectError::Refused(Refusal::Domain { server: 7 })), "{refused}");
    let refused = Client::connect_with(&endpoints[1], config(7)).expect_err("another domain");
    assert!(matches!(refused, ConnectError::NotAdmitted { hint: Hint::Domain, .. }), "{refused}");
    // A client with a key does not trust a single refusal.
    let other = config(1).key(Key::new([3; 32])).call_timeout(Duration::from_secs(1));
    let refused = loop {
        match Client::connect_with(&endpoints[2], other.clone()).expect_err("another domain") {
            // A busy server has said nothing within that second.
            ConnectError::Silent { hint: Hint::OtherKey, .. } => {}
            refused => break refused,
        }
    };
    assert!(matches!(refused, ConnectError::Silent { hint: Hint::Domain, .. }), "{refused}");
    domains.stop();
    let nobody = Domains::default().serve().expect_err("no domain");
    assert!(nobody.to_string().contains("Domains::host"), "{nobody}");
}

fn load(name: &str, domain: u8, outstanding: u32, is_over: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let config = patient_client().domain(domain).slots(4096);
    let mut client = Client::connect_with(name, config).expect("a client");
    let is_over = is_over.clone();
    std::thread::spawn(move || {
        while !is_over.load(Relaxed) {
            while client.outstanding() < outstanding && client.submit(b"load").is_ok() {}
            while let Some(Completion { result, .. }) = client.poll() {
                assert!(matches!(result, Ok(_) | Err(CallError::Nack { .. })), "{result:?}");
            }
            std::thread::yield_now();
        }
    })
}

fn two_domains(test: &str, weights: [u16; 2], times: [Duration; 2], threads: u16) -> ([String; 2], RunningDomains) {
    let names = [1, 2].map(|number| endpoint(&format!("{test}-{number}")));
    let mut domains = Domains::default().threads(threads);
    for (domain, (name, weight)) in (0..).zip(names.iter().zip(weights)) {
        domains = domains.host(weight, server(name, domain), takes(times[usize::from(domain)]));
    }
    (names, domains.serve().expect("two domains"))
}

#[test]
fn each_thread_serves_its_part_of_every_domain_and_is_lent_apart() {
    let _watchdog = Watchdog::new("domains on threads");
    let (names, domains) = two_domains("threads", [3, 1], [Duration::from_micros(5); 2], 2);
    let is_over = Arc::new(AtomicBool::new(false));
    // The server deals clients out in turn: both threads get one of the first domain, only the
    // first thread gets one of the second.
    let loads = [0, 0, 1].map(|domain| load(&names[domain], u8::try_from(domain).expect("few"), 1000, &is_over));
    let on = |thread: usize| domains.used_on(thread).collect::<Vec<_>>();
    wait_until("each thread's work", || {
        let used = [on(0)[0], on(0)[1], on(1)[0]];
        used.iter().all(|&used| used > Span::ZERO).then_some(())
    });
    is_over.store(true, Relaxed);
    loads.into_iter().for_each(|load| load.join().expect("no panic"));
    let (first, second) = (on(0), on(1));
    // There the second domain has no client, so the first one gets its weight.
    assert_eq!((second[1], on(2).len()), (Span::ZERO, 0));
    // The last RPCs may still be running.
    let (used, later) = (domains.used().collect::<Vec<_>>(), [on(0), on(1)]);
    for (domain, &used) in used.iter().enumerate() {
        let sums = first[domain] + second[domain]..=later[0][domain] + later[1][domain];
        assert!(sums.contains(&used), "{used} of {sums:?}");
    }
    // The other domains go on, and a stop stops every thread.
    let mut client = Client::connect_with(&names[1], patient_client().domain(1)).expect("a client");
    assert_eq!(client.call(b"on the second thread"), Ok(&b"on the second thread"[..]));
    domains.stop();
    assert!(client.call(b"gone").is_err());
}

#[test]
fn what_a_domain_does_not_use_is_the_others() {
    let _watchdog = Watchdog::new("an idle domain");
    let (names, domains) = two_domains("idle", [1, 9], [Duration::from_micros(5); 2], 1);
    let is_over = Arc::new(AtomicBool::new(false));
    let load = load(&names[0], 0, 1000, &is_over);
    let used = || domains.used().next().expect("the first");
    wait_until("the core", || (used() >= Span::from_ms(100)).then_some(()));
    is_over.store(true, Relaxed);
    load.join().expect("no panic");
    let mut client = Client::connect_with(&names[1], patient_client().domain(1)).expect("a client");
    assert_eq!(client.call(b"still there"), Ok(&b"still there"[..]));
    domains.stop();
    assert!(client.call(b"gone").is_err());
}
