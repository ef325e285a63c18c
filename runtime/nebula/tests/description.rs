//! What a server knows of its service: it asks once, at the start, unless it is given.

use crate::support::endpoint;
use nebula::{Class, Client, CoreId, Description, Policy, Reply, RpcType, Server, Service, StoreCounters};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counts how often it is asked, and drained.
#[derive(Clone, Default)]
struct Asked {
    asked: Arc<AtomicU32>,
    drained: Arc<AtomicU32>,
}

impl Asked {
    fn counts(&self) -> (u32, u32) {
        (self.asked.load(Relaxed), self.drained.load(Relaxed))
    }
}

impl Service for Asked {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        reply.write(request);
    }

    fn describe(&self) -> Description {
        self.asked.fetch_add(1, Relaxed);
        let drained = self.drained.clone();
        Description::default().reply_bytes_max(100).on_drain(move || _ = drained.fetch_add(1, Relaxed))
    }
}

#[test]
fn a_service_is_asked_once_and_drained_by_each_worker() {
    let _watchdog = Watchdog::new("asked once");
    for workers in [1, 2] {
        let service = Asked::default();
        let server = Server::bind(&endpoint("asked")).workers(workers).serve(service.clone()).expect("a server");
        let mut client = Client::connect(server.endpoint().clone()).expect("a connection");
        (0..200).for_each(|_| assert_eq!(client.call(b"x"), Ok(&b"x"[..])));
        assert_eq!((client.reply_bytes_max(), service.counts()), (Some(100), (1, 0)));
        server.stop();
        assert_eq!(service.counts(), (1, workers.into()));
    }
}

#[test]
fn the_configuration_replaces_the_services_description_and_its_bounds_go_before_both() {
    let _watchdog = Watchdog::new("replaced");
    for (bound, expected) in [(None, 200), (Some(300), 300)] {
        let service = Asked::default();
        let server = Server::bind(&endpoint("replaced")).description(Description::default().reply_bytes_max(200));
        let server = bound.into_iter().fold(server, Server::reply_bytes_max).serve(service.clone()).expect("a server");
        let client = Client::connect(server.endpoint().clone()).expect("a connection");
        assert_eq!(client.reply_bytes_max(), Some(expected));
        server.stop();
        assert_eq!(service.counts(), (0, 0));
    }
}

#[test]
fn what_a_service_of_each_worker_is_like_is_said_at_the_server() {
    let _watchdog = Watchdog::new("each worker's service");
    let (served, drained) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let [counted, drains] = [&served, &drained].map(Arc::clone);
    let description = Description::default()
        .reply_bytes_max(100)
        .store(move || StoreCounters { hits: counted.load(Relaxed).into(), ..StoreCounters::default() })
        .on_drain(move || _ = drains.fetch_add(1, Relaxed));
    let server = Server::bind(&endpoint("each-described")).workers(2).description(description);
    let server = server.serve_each(move |_: CoreId| {
        let served = served.clone();
        move |request: &[u8], reply: &mut Reply<'_>| {
            served.fetch_add(1, Relaxed);
            reply.write(request);
        }
    });
    let server = server.expect("a server");
    let mut client = Client::connect(server.endpoint().clone()).expect("a connection");
    assert_eq!(client.reply_bytes_max(), Some(100));
    (0..50).for_each(|_| assert_eq!(client.call(b"x"), Ok(&b"x"[..])));
    wait_until("the counters", || server.status().store().filter(|store| store.hits == 50));
    server.stop();
    assert_eq!(drained.load(Relaxed), 2);
}

#[test]
fn a_pool_is_drained_before_its_service() {
    struct Slow(Arc<AtomicU32>, Arc<AtomicU32>);
    impl Service for Slow {
        fn serve(&self, _: &[u8], reply: &mut Reply<'_>) {
            std::thread::yield_now();
            self.0.fetch_add(1, Relaxed);
            reply.write(b"served");
        }
        fn describe(&self) -> Description {
            let [served, at_drain] = [&self.0, &self.1].map(Arc::clone);
            let description = Description::default().classes(|_| Class::Worker);
            description.on_drain(move || at_drain.store(served.load(Relaxed), Relaxed))
        }
    }
    let _watchdog = Watchdog::new("a pool's drain");
    let [served, at_drain] = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let service = Slow(served.clone(), at_drain.clone());
    let server = Server::bind(&endpoint("pool-first")).serve(service).expect("a server");
    let mut client = Client::connect(server.endpoint().clone()).expect("a connection");
    let taken_on = (0..8).filter(|_| client.submit(b"long").is_ok()).count();
    wait_until("the pool to have them", || {
        let pool = server.pool().expect("a pool");
        (pool.served + pool.refused + u64::from(pool.held) == taken_on as u64).then_some(())
    });
    server.stop();
    assert_eq!(at_drain.load(Relaxed), served.load(Relaxed));
    assert!(served.load(Relaxed) > 0);
}

#[test]
fn a_description_is_printed_without_its_functions() {
    let description = Description::default().later_max(7).types(3, |_| RpcType(1)).prefetches(true);
    let printed = format!("{:?}", Server::bind("shm://printed").policy(Policy::Darc).description(description.clone()));
    assert!(printed.contains("later_max: Some(7), prefetches: true, types: Some(RpcTypes { types: 3"), "{printed}");
    assert_eq!(
        (description.class(b"any"), description.types.expect("types").type_of(b"any")),
        (Class::Dispatch, RpcType(1))
    );
}
