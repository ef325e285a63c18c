//! Clients that wait for an answer, or have no call at all, cost their watching thread no time.

use crate::alone;
use crate::support::{endpoint, server_config};
use nebula::{AsyncClient, ClientConfig, Reply, Server, Span};
use nebula_testing::wait::{Watchdog, wait_until, wait_until_unchanged};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const CLIENTS: usize = 200;

/// Run time so far of the thread that watches the clients, in nanoseconds.
fn driver_ns() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten().map(|task| task.path());
    let is_drivers = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "nebula-client")
    };
    let schedstat = std::fs::read_to_string(tasks.into_iter().find(is_drivers)?.join("schedstat")).ok()?;
    schedstat.split(' ').next()?.parse().ok()
}

#[test]
fn clients_that_nothing_comes_for_cost_no_time() {
    let _alone = alone();
    let _watchdog = Watchdog::new("idle clients");
    let is_over = Arc::new(AtomicBool::new(false));
    let goes_on = is_over.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        wait_until("leave to answer", || goes_on.load(Ordering::Acquire).then_some(()));
        reply.write(request);
    };
    let name = endpoint("idle");
    let config = server_config(|config| {
        config.clients_max = 1000;
        config.slo = Span::from_secs(1);
    });
    let server = Server::bind(&name).config(config).serve(service).expect("a server");
    let config = ClientConfig::default().slots(2).call_timeout(Duration::from_secs(600));
    let connect =
        || AsyncClient::connect_with(&*name, config.clone()).wait().expect("a connection").poll_for(Span::ZERO);
    let _silent: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    let waiting: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    let mut calls: Vec<_> = waiting.iter().map(|client| client.call(b"long")).collect();
    let mut cx = Context::from_waker(Waker::noop());
    for call in &mut calls {
        for _ in 0..3 {
            assert!(Pin::new(&mut *call).poll(&mut cx).is_pending());
        }
    }
    // The thread may still have work left from the calls; after that it must rest.
    let rest = Duration::from_millis(300);
    let spent = wait_until_unchanged("clients that cost no time", rest, driver_ns);
    assert!(spent.is_some(), "there is a thread for them");
    is_over.store(true, Ordering::Release);
    for call in &mut calls {
        let reply = wait_until("a reply", || match Pin::new(&mut *call).poll(&mut cx) {
            Poll::Ready(reply) => Some(reply),
            Poll::Pending => None,
        });
        assert_eq!(reply.as_deref(), Ok(&b"long"[..]));
    }
    server.stop();
}
