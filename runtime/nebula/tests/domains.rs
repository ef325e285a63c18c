//! Several messaging domains on one thread, and on several: shares, isolation, and that none is taken for another.

use nebula::{
    CallError, Class, Client, ClientConfig, Completion, ConnectError, Domains, Hint, Key, Refusal, Reply,
    RunningDomains, Server, ServerConfig, Service, Span,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::endpoint;
use nebula_testing::wait::Watchdog;

/// A service whose every RPC takes some time.
fn takes(time: Duration) -> impl Fn(&[u8], &mut Reply<'_>) + Send + 'static {
    move |request: &[u8], reply: &mut Reply<'_>| {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
        reply.write(request);
    }
}

fn server(name: &str, domain: u8) -> Server {
    let config = ServerConfig::default().domain(domain).service_mean(Span::from_us(5)).slo(Span::from_ms(200));
    Server::bind(name).config(config)
}

/// Its long RPCs say which thread has run them, once the gate is open.
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

    fn has_long(&self) -> bool {
        true
    }

    fn class(&self, request: &[u8]) -> Class {
        if request == b"long" { Class::Worker } else { Class::Dispatch }
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
            let config = ClientConfig::default().domain(domain).call_timeout(Duration::from_secs(60));
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
        // What the pool has taken on is answered although the domains stop.
        let stopper = domains.servers()[0].stopper();
        let stops = std::thread::spawn(move || domains.stop());
        while !stopper.load(Relaxed) {
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
    let keyed = ServerConfig::default().domain(9).key(Key::new([3; 32]));
    let domains = Domains::default()
        .host(1, server(&name, 7), takes(Duration::ZERO))
        .host(1, Server::bind("udp://127.0.0.1:0").config(ServerConfig::default().domain(8)), takes(Duration::ZERO))
        .host(1, Server::bind("udp://127.0.0.1:0").config(keyed), takes(Duration::ZERO))
        .serve()
        .expect("three domains");
    let endpoints: Vec<_> = domains.servers().iter().map(|server| server.endpoint().clone()).collect();
    let config = |domain: u8| {
        let config = ClientConfig::default().domain(domain);
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
    // With a key nobody's refusal is believed at once.
    let other = config(1).key(Key::new([3; 32])).call_timeout(Duration::from_secs(1));
    let refused = Client::connect_with(&endpoints[2], other).expect_err("another domain");
    assert!(matches!(refused, ConnectError::Silent { hint: Hint::Domain, .. }), "{refused}");
    domains.stop();
    let nobody = Domains::default().serve().expect_err("no domain");
    assert!(nobody.to_string().contains("Domains::host"), "{nobody}");
}

/// Keeps so many RPCs outstanding until it is told to end.
fn load(name: &str, domain: u8, outstanding: u32, is_over: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let config = ClientConfig::default().domain(domain).slots(4096);
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

/// The share of the first domain in what both used of the first thread's core, in the median of some windows.
fn median_share(domains: &RunningDomains, windows: usize) -> f64 {
    let shares = (0..windows).map(|_| {
        let used = || domains.used_on(0).map(Span::as_secs_f64).collect::<Vec<_>>();
        let before = used();
        std::thread::sleep(Duration::from_millis(20));
        let [one, other] = [0, 1].map(|domain| used()[domain] - before[domain]);
        one / (one + other)
    });
    let mut shares: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
    shares.sort_by(f64::total_cmp);
    shares[shares.len() / 2]
}

#[test]
fn shares_of_the_core_are_the_weights_whatever_is_offered() {
    let _watchdog = Watchdog::new("shares of domains");
    // RPCs of the one take four times as long. What waits is the work of some milliseconds: so nobody runs dry while its client does not run.
    let times = [Duration::from_micros(20), Duration::from_micros(5)];
    for (weights, fair) in [([1, 1], 0.5), ([1, 3], 0.25)] {
        let (names, domains) = two_domains(&format!("shares-{fair}"), weights, times, 1);
        let is_over = Arc::new(AtomicBool::new(false));
        let loads = [(0, 1000), (1, 3000)]
            .map(|(domain, rpcs)| load(&names[domain], u8::try_from(domain).expect("few"), rpcs, &is_over));
        // Turn by turn it would be 0.8.
        wait_for_share(&domains, fair);
        is_over.store(true, Relaxed);
        loads.into_iter().for_each(|load| load.join().expect("no panic"));
        domains.stop();
    }
}

/// On a busy machine a client may not run for longer than its domain has work: those windows say nothing.
fn wait_for_share(domains: &RunningDomains, fair: f64) {
    let begun = Instant::now();
    loop {
        let share = median_share(domains, 9);
        if (share - fair).abs() < 0.03 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{share} of the core where {fair} is fair");
    }
}

#[test]
fn each_thread_has_its_share_of_every_domain_and_is_lent_apart() {
    let _watchdog = Watchdog::new("domains on threads");
    let (names, domains) = two_domains("threads", [3, 1], [Duration::from_micros(5); 2], 2);
    let is_over = Arc::new(AtomicBool::new(false));
    // Clients are dealt out in turn: both threads have one of the first domain, and only the first thread has one of the second.
    let loads = [0, 0, 1].map(|domain| load(&names[domain], u8::try_from(domain).expect("few"), 1000, &is_over));
    wait_for_share(&domains, 0.75);
    is_over.store(true, Relaxed);
    loads.into_iter().for_each(|load| load.join().expect("no panic"));
    let on = |thread: usize| domains.used_on(thread).collect::<Vec<_>>();
    let (first, second) = (on(0), on(1));
    assert!(first.iter().chain(&second[..1]).all(|&used| used > Span::ZERO), "{first:?} {second:?}");
    // There the second domain has no client, and its weight is the first one's.
    assert_eq!((second[1], on(2).len()), (Span::ZERO, 0));
    // What was sent last may be in work still.
    let (used, later) = (domains.used().collect::<Vec<_>>(), [on(0), on(1)]);
    for (domain, &used) in used.iter().enumerate() {
        let sums = first[domain] + second[domain]..=later[0][domain] + later[1][domain];
        assert!(sums.contains(&used), "{used} of {sums:?}");
    }
    // What is left works, and what stops stops on every thread.
    let mut client = Client::connect_with(&names[1], ClientConfig::default().domain(1)).expect("a client");
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
    std::thread::sleep(Duration::from_millis(50));
    let before = domains.used().next().expect("the first");
    let begun = Instant::now();
    while domains.used().next().expect("the first") - before < Span::from_ms(100) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not get the core");
        std::thread::yield_now();
    }
    is_over.store(true, Relaxed);
    load.join().expect("no panic");
    let mut client = Client::connect_with(&names[1], ClientConfig::default().domain(1)).expect("a client");
    assert_eq!(client.call(b"still there"), Ok(&b"still there"[..]));
    domains.stop();
    assert!(client.call(b"gone").is_err());
}
