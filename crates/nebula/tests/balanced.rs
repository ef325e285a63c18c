//! A client of several servers: what is refused goes to another one, nothing runs twice, and a server that is gone and comes back is noticed.

use nebula::{
    Balance, BalancedClient, CallError, Client, ConnectError, Executed, Options, Policy, Reply, RunningServer, Server,
    ServerConfig, Span, SubmitError,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::endpoint;
use crate::support::watch::Watchdog;

/// An echo that counts what it executes.
fn counting(name: &str) -> (RunningServer, Arc<AtomicU32>) {
    let executed = Arc::new(AtomicU32::new(0));
    let count = executed.clone();
    let server = Server::bind(name).serve(move |request: &[u8], reply: &mut Reply<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        reply.write(request);
    });
    (server.expect("a server"), executed)
}

#[test]
fn a_refused_call_goes_to_another_server() {
    let _watchdog = Watchdog::new("a refused call");
    let (busy_name, idle_name) = (endpoint("balanced-busy"), endpoint("balanced-idle"));
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    // One is served until it is released, two may wait: all else is refused at once.
    let config = ServerConfig::default().slo(Span::from_us(1)).service_mean(Span::from_us(1)).policy(Policy::Jbsq(1));
    let busy = Server::bind(&busy_name).config(config).serve(move |_: &[u8], reply: &mut Reply<'_>| {
        let _ = released.lock().expect("the lock").recv();
        reply.write(b"late");
    });
    let busy = busy.expect("a server");
    let mut crowd = Client::connect(&busy_name).expect("a client");
    let begun = Instant::now();
    let mut filled = 0;
    while filled < 16 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the busy server takes everything");
        filled += u32::from(crowd.submit(b"fill").is_ok());
        // The first NACK says that there is no more room.
        if crowd.poll().is_some_and(|done| done.result.is_err()) {
            break;
        }
        std::thread::yield_now();
    }
    let (idle, executed) = counting(&idle_name);
    for balance in [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo, Balance::KeyHash] {
        let before = executed.load(Ordering::Relaxed);
        let endpoints = format!("{busy_name},{idle_name}");
        let mut client = BalancedClient::connect(&endpoints, balance).expect("a client");
        for key in 0..20 {
            let options = Options::default().key_hash(key);
            assert_eq!(client.call_with(b"elsewhere", options), Ok(b"elsewhere".to_vec()), "{balance}, key {key}");
        }
        assert_eq!(executed.load(Ordering::Relaxed) - before, 20, "{balance}: each once, at the idle server");
    }
    drop(release);
    busy.stop();
    idle.stop();
}

#[test]
fn nothing_runs_twice_over_servers_that_end_and_come_back() {
    let _watchdog = Watchdog::new("servers that end");
    let (one_name, other_name) = (endpoint("balanced-one"), endpoint("balanced-other"));
    let (one, one_executed) = counting(&one_name);
    let (other, other_executed) = counting(&other_name);
    let endpoints = format!("{one_name}, {other_name}");
    let mut client = BalancedClient::connect(&endpoints, Balance::RoundRobin).expect("a client");
    for _ in 0..20 {
        assert_eq!(client.call(b"both"), Ok(b"both".to_vec()));
    }
    assert_eq!((one_executed.load(Ordering::Relaxed), other_executed.load(Ordering::Relaxed)), (10, 10));
    one.stop();
    // Who does not say that it does no harm is told, and may be once: after that the server is left alone.
    let ends: Vec<_> = (0..20).map(|_| client.call(b"one left")).collect();
    let unknown = ends.iter().filter_map(|end| end.as_ref().err()).inspect(|error| {
        assert_eq!(error.was_executed(), Executed::Unknown, "{error}");
    });
    let unknown = unknown.count();
    assert!(unknown <= 1, "{ends:?}");
    assert_eq!(other_executed.load(Ordering::Relaxed) as usize, 10 + 20 - unknown, "each at most once");
    for _ in 0..20 {
        assert_eq!(client.call_with(b"harmless", Options::default().idempotent(true)), Ok(b"harmless".to_vec()));
    }
    let (one, again) = counting(&one_name);
    let begun = Instant::now();
    while again.load(Ordering::Relaxed) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server that came back got nothing");
        assert!(client.call_with(b"again", Options::default().idempotent(true)).is_ok());
    }
    one.stop();
    other.stop();
    // Now nobody is left.
    let ends: Vec<_> = (0..4).map(|_| client.call(b"nobody")).collect();
    assert!(ends.iter().all(Result::is_err), "{ends:?}");
    assert_eq!(ends.last(), Some(&Err(CallError::NotSent(SubmitError::ServerGone))), "both are left alone");
}

#[test]
fn submitted_rpcs_end_once_each_wherever_they_went() {
    let _watchdog = Watchdog::new("submitted to several");
    let names = [endpoint("balanced-a"), endpoint("balanced-b"), endpoint("balanced-c")];
    let servers: Vec<_> = names.iter().map(|name| counting(name)).collect();
    let mut client = BalancedClient::connect(&names.join(","), Balance::PowerOfTwo).expect("a client");
    let (mut outstanding, mut ended) = (BTreeSet::new(), 0);
    let mut submitted = 0_u32;
    while ended < 3000 {
        if submitted < 3000
            && let Ok(ticket) = client.submit(&submitted.to_le_bytes(), Options::default())
        {
            assert!(outstanding.insert(ticket), "{ticket:?} is outstanding already");
            submitted += 1;
        }
        assert_eq!(client.outstanding() as usize, outstanding.len());
        while let Some((ticket, result)) = client.poll() {
            assert!(outstanding.remove(&ticket), "{ticket:?} ended twice");
            ended += 1;
            assert!(matches!(result, Ok(_) | Err(CallError::Nack { .. })), "{result:?}");
        }
    }
    for (server, executed) in servers {
        assert!(executed.load(Ordering::Relaxed) > 0, "each got some");
        server.stop();
    }
}

#[test]
fn servers_that_cannot_be_reached_are_an_error_only_where_none_can() {
    let _watchdog = Watchdog::new("servers that cannot be reached");
    let (here, nowhere) = (endpoint("balanced-here"), endpoint("balanced-nowhere"));
    let error = BalancedClient::connect(&nowhere, Balance::RoundRobin).expect_err("nobody is there");
    assert!(matches!(error, ConnectError::NobodyServes { .. }), "{error}");
    let error = BalancedClient::connect("shm://a,http://b", Balance::RoundRobin).expect_err("no endpoint");
    assert!(matches!(error, ConnectError::Endpoint(_)), "{error}");
    let many = vec!["shm://a"; 65].join(",");
    let error = BalancedClient::connect(&many, Balance::RoundRobin).expect_err("too many");
    assert!(matches!(error, ConnectError::TooManyServers { given: 65, max: 64 }), "{error}");
    let (server, executed) = counting(&here);
    let mut client = BalancedClient::connect(&format!("{nowhere},{here}"), Balance::Random).expect("one is enough");
    for _ in 0..10 {
        assert_eq!(client.call(b"here"), Ok(b"here".to_vec()));
    }
    assert_eq!(executed.load(Ordering::Relaxed), 10);
    server.stop();
}
