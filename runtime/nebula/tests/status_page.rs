//! The status page: every RPC is offered, served, or NACKed by cause, and times are sampled on
//! every path.

use crate::support::patient_client;
use crate::support::{endpoint, server_config};
use nebula::{
    Client, ClientConfig, Description, Policy, Reply, RetryPolicy, RunningServer, Server, ServerConfig, Service, Span,
    StoreCounters,
};
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CALLS: u64 = 500;

/// Serves and calls an echo that takes some microseconds; returns the running server.
fn called(test: &str, config: ServerConfig) -> RunningServer {
    let name = if test.starts_with("udp") { "udp://127.0.0.1:0".to_owned() } else { endpoint(test) };
    let slow = |request: &[u8], reply: &mut Reply<'_>| {
        spin(Duration::from_micros(3));
        reply.write(request);
    };
    let server = Server::bind(&name).config(config).serve(slow).expect("served");
    let mut client = Client::connect_with(server.endpoint().clone(), patient_client()).expect("connected");
    for _ in 0..CALLS {
        assert_eq!(client.call(b"hello").expect("answered"), b"hello");
    }
    let status = server.status();
    wait_until("all RPCs on the page", || (status.read().freed >= CALLS).then_some(()));
    server
}

#[test]
fn times_are_sampled_whichever_way_rpcs_are_served() {
    let _watchdog = Watchdog::new("sampled times");
    let config = || server_config(|config| config.slo = Span::from_ms(100));
    let preemptive: Policy = "preemptive:50us".parse().expect("a policy");
    for (test, config) in [
        ("sample-inline", config().inline(true)),
        ("sample-ring", config()),
        ("sample-stealing", config().workers(2).policy(Policy::WorkStealing)),
        ("sample-lock", config().workers(2).policy(Policy::McsLock)),
        ("sample-preemptive", config().policy(preemptive)),
        ("sample-flows", config().flows(2)),
        ("udp-sample-inline", config().inline(true)),
        ("udp-sample-ring", config()),
    ] {
        let (workers, engines) = (config.workers, config.engines);
        let server = called(test, config);
        let status = server.status();
        let cores = status.cores();
        assert_eq!((cores.len(), status.read().engines), (workers.into(), engines.into()), "{test}");
        let sampled = status.latency().count();
        assert!((1..=CALLS / 32).contains(&sampled), "{test}: {sampled} samples of {CALLS}");
        let served: u64 = cores.iter().map(|core| core.served).sum();
        assert!((1..=CALLS).contains(&served), "{test}: {served} served");
        let service = status.service().quantile(0.0).expect("samples");
        assert!(service >= Span::from_us(3), "{test}: a service time of {service}");
        for core in cores.iter().filter(|core| core.served > 0) {
            // If RPCs are served one by one, the parts make up all of their time.
            let parts = core.waiting.sum() + core.service.sum();
            assert!(parts <= core.latency.sum() + Span::from_ns(core.latency.count()), "{test}: {core:?}");
            assert!(core.busy >= Span::from_us(3) * (core.served / 2), "{test}: busy for {}", core.busy);
        }
        let samples = status.samples();
        assert!(
            !samples.is_empty() && samples.is_sorted_by_key(|sample| std::cmp::Reverse(sample.latency())),
            "{test}"
        );
        for sample in samples {
            let way = [sample.arrived_ps, sample.given_ps, sample.begun_ps, sample.ended_ps];
            assert!(way.is_sorted() && sample.bytes == 5 && sample.worker < workers, "{test}: {sample:?}");
        }
        server.stop();
    }
}

#[test]
fn nothing_is_sampled_where_nobody_wants_to_know() {
    let server = called("unsampled", ServerConfig::default().inline(true).metrics(false));
    let status = server.status();
    assert_eq!((status.latency().count(), status.samples().len(), status.read().freed), (0, 0, CALLS));
}

#[test]
fn what_is_offered_is_served_or_refused_and_the_page_says_why() {
    let _watchdog = Watchdog::new("offered");
    let name = endpoint("offered");
    let config = ServerConfig::default().inline(true).slo(Span::from_us(20)).service_mean(Span::from_us(5));
    let slow = |request: &[u8], reply: &mut Reply<'_>| {
        spin(Duration::from_micros(20));
        reply.write(request);
    };
    let server = Server::bind(&name).config(config).serve(slow).expect("served");
    let mut client =
        Client::connect_with(&name, ClientConfig::default().slots(256).retry(RetryPolicy::GiveUp)).expect("connected");
    let (mut sent, mut replied, mut nacked) = (0, 0, 0);
    while nacked == 0 || sent < 5000 {
        while client.submit(b"hello").is_ok() {
            sent += 1;
        }
        while let Some(done) = client.poll() {
            match done.result {
                Ok(_) => replied += 1,
                Err(_) => nacked += 1,
            }
        }
    }
    while replied + nacked < sent {
        if let Some(done) = client.poll() {
            match done.result {
                Ok(_) => replied += 1,
                Err(_) => nacked += 1,
            }
        }
    }
    let status = server.status();
    let seen = wait_until("every RPC on the page", || Some(status.read()).filter(|seen| seen.offered() == sent));
    assert_eq!((seen.freed, seen.nacked()), (replied, nacked), "{seen:?}");
    assert_eq!(seen.nacked_queue_bound, nacked, "{seen:?}");
    assert!(
        seen.queue_depth_recent <= seen.queue_depth_max && seen.slots_used_recent <= seen.slots_used_max,
        "{seen:?}"
    );
    assert!(seen.engine_busy > Span::from_us(20) * replied && seen.written_ticks > seen.started_ticks, "{seen:?}");
}

#[derive(Default)]
struct Counting(Arc<AtomicU64>);

impl Service for Counting {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        reply.write(request);
    }

    fn describe(&self) -> Description {
        let hits = self.0.clone();
        Description::default().store(move || StoreCounters {
            hits: hits.load(Ordering::Relaxed),
            misses: 7,
            ..StoreCounters::default()
        })
    }
}

#[test]
fn what_a_service_counts_is_on_the_page_once_it_rests() {
    let _watchdog = Watchdog::new("store counters");
    for (test, inline) in [("store-inline", true), ("store-ring", false)] {
        let name = endpoint(test);
        let server = Server::bind(&name).inline(inline).serve(Counting::default()).expect("served");
        let mut client = Client::connect_with(&name, patient_client()).expect("connected");
        for _ in 0..300 {
            client.call(b"x").expect("answered");
        }
        let from_outside = client.status().expect("over shared memory").clone();
        wait_until("the store's counters", || {
            from_outside.store().filter(|store| (store.hits, store.misses) == (300, 7))
        });
        server.stop();
    }
}

#[test]
fn a_server_without_a_store_or_a_pool_says_of_neither() {
    let server = called("nothing-stored", ServerConfig::default().inline(false));
    assert_eq!((server.status().store(), server.status().pool()), (None, None));
}
