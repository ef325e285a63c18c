//! Handlers that are futures: RPCs of one worker wait at the same time, and each ends with its own
//! reply or with an error.

use crate::support::{endpoint, everywhere, patient_client, unhurried_config};
use nebula::{AsyncClient, CallError, Fault, Policy, RunningServer, ServeError, Server};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;

/// As many as a worker can have under way, under `jbsq:2`.
const AT_ONCE: usize = 62;

fn executor() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("an executor")
}

fn connect(server: &RunningServer) -> AsyncClient {
    let config = patient_client().slots(128);
    AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection")
}

#[test]
fn as_many_rpcs_wait_at_once_as_a_worker_can_have_and_each_gets_its_own_reply() {
    let _watchdog = Watchdog::new("handlers that wait for each other");
    let executor = executor();
    let _inside = executor.enter();
    for at in everywhere("serve-async") {
        // No reply comes before all are begun: none of them holds up another.
        let all_are_begun = Arc::new(Barrier::new(AT_ONCE));
        let handler = move |request: Vec<u8>| {
            let all_are_begun = all_are_begun.clone();
            async move {
                all_are_begun.wait().await;
                [b"reply to ", &request[..]].concat()
            }
        };
        let server = Server::bind(&at).config(unhurried_config(|_| {})).serve_async(handler).expect("a server");
        let client = connect(&server);
        let calls: Vec<_> = (0..AT_ONCE)
            .map(|call| {
                let client = client.clone();
                executor.spawn(async move { client.call(call.to_string()).await })
            })
            .collect();
        for (at, call) in calls.into_iter().enumerate() {
            let reply = executor.block_on(call).expect("it has not panicked");
            assert_eq!(reply, Ok(format!("reply to {at}").into_bytes()));
        }
        let freed = || (server.status().read().slots_used == 0).then_some(());
        wait_until("the slots to be free", freed);
        server.stop();
    }
}

#[test]
fn a_handler_that_panics_or_is_dropped_by_its_runtime_ends_its_rpc_unanswered() {
    let _watchdog = Watchdog::new("handlers that do not end");
    let (executor, short_lived) = (executor(), executor());
    let handler = |request: Vec<u8>| async move {
        assert_ne!(request, b"panic");
        if request == b"without end" {
            std::future::pending::<()>().await;
        }
        request
    };
    let server = short_lived
        .block_on(async { Server::bind(&endpoint("unanswered")).config(unhurried_config(|_| {})).serve_async(handler) })
        .expect("a server");
    let client = connect(&server);
    let unanswered = Err(CallError::Fault(Fault::Unanswered));
    assert_eq!(executor.block_on(client.call(b"panic")), unanswered);
    assert_eq!(executor.block_on(client.call(b"then another")).as_deref(), Ok(&b"then another"[..]));
    let waits = executor.spawn({
        let client = client.clone();
        async move { client.call(b"without end").await }
    });
    // The next reply shows that the one before has begun: one worker takes them in their order.
    assert!(executor.block_on(client.call(b"begun")).is_ok());
    short_lived.shutdown_background();
    assert_eq!(executor.block_on(waits).expect("it has not panicked"), unanswered);
    assert_eq!(executor.block_on(client.call(b"without a runtime")), unanswered);
    server.stop();
}

#[test]
fn it_needs_a_runtime_and_a_policy_that_has_later_replies() {
    let handler = |request: Vec<u8>| async move { request };
    let at = endpoint("no-runtime");
    assert!(matches!(Server::bind(&at).serve_async(handler), Err(ServeError::NoExecutor)));
    let executor = executor();
    let _inside = executor.enter();
    let refused = Server::bind(&at).policy(Policy::Rss).serve_async(handler);
    assert!(matches!(refused, Err(ServeError::LaterPolicy { .. })), "{refused:?}");
}
