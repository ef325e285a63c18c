//! Layers of `tower` around a client of many tasks.

use crate::support::boxed::boxed;
use crate::support::{echo, endpoint, endpoints, patient_client, server_config};
use nebula::{AsyncClient, CallError, LaterReply, Queueing, Reply, RunningServer, Server};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower::{Service, ServiceBuilder, ServiceExt};

/// A server whose answers the test gives.
fn held(at: &str) -> (RunningServer, Receiver<LaterReply>) {
    let (hand_on, held) = channel();
    let service = move |_: &[u8], reply: &mut Reply<'_>| {
        let _ = hand_on.send(reply.later().expect("later_max is set"));
    };
    let config = server_config(|config| {
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 };
        config.later_max = Some(60);
    });
    (Server::bind(at).config(config).serve(boxed(service)).expect("a server"), held)
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("an executor")
}

fn connect(server: &RunningServer) -> AsyncClient {
    AsyncClient::connect_with(server.endpoint().clone(), patient_client().slots(4)).wait().expect("a connection")
}

#[test]
fn a_limit_lets_through_as_many_as_it_says_and_all_are_answered() {
    let _watchdog = Watchdog::new("a limit");
    for at in endpoints("tower-limit") {
        let (server, held) = held(&at);
        let limited = ServiceBuilder::new().concurrency_limit(2).service(connect(&server));
        executor().block_on(async {
            let tasks: Vec<_> = (0..10_u8)
                .map(|at| {
                    let mut limited = limited.clone();
                    tokio::spawn(async move { limited.ready().await?.call(vec![at]).await })
                })
                .collect();
            let answers = tokio::task::spawn_blocking(move || {
                for _ in 0..5 {
                    let two = [held.recv().expect("one"), held.recv().expect("another")];
                    assert!(held.try_recv().is_err(), "two at once");
                    two.into_iter().for_each(|later| later.answer(b"yes"));
                }
            });
            for task in tasks {
                assert_eq!(task.await.expect("no panic"), Ok(b"yes".to_vec()));
            }
            answers.await.expect("no panic");
        });
        server.stop();
    }
}

#[test]
fn a_time_out_drops_the_call_and_what_it_has_held_is_free() {
    let _watchdog = Watchdog::new("a time-out");
    for at in endpoints("tower-time-out") {
        let (server, held) = held(&at);
        let client = connect(&server);
        let mut answering = None;
        let mut timed = ServiceBuilder::new().timeout(Duration::from_millis(20)).service(client.clone());
        executor().block_on(async {
            for _ in 0..3 {
                let error =
                    timed.ready().await.expect("room").call(b"never".to_vec()).await.expect_err("nobody answers");
                assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
                assert_eq!(client.outstanding(), 0);
            }
            // Over shared memory, the slots of RPCs that have begun become free with their answers.
            answering = Some(std::thread::spawn(move || held.iter().for_each(|later| later.answer(b"yes"))));
            for _ in 0..4 {
                assert_eq!(client.call(b"again").await, Ok(b"yes".to_vec()));
            }
        });
        server.stop();
        answering.expect("begun").join().expect("no panic");
    }
}

#[test]
fn a_full_client_is_not_ready_and_its_load_is_shed_until_there_is_room() {
    let _watchdog = Watchdog::new("a full client");
    let (server, held) = held(&endpoint("tower-full"));
    let client = connect(&server);
    let mut shedding = ServiceBuilder::new().load_shed().service(client.clone());
    executor().block_on(async {
        let tasks: Vec<_> = (0..4_u8)
            .map(|at| {
                let client = client.clone();
                tokio::spawn(async move { client.call([at]).await })
            })
            .collect();
        let begun: Vec<_> = held.iter().take(4).collect();
        let error = shedding.ready().await.expect("it takes all").call(b"more".to_vec()).await.expect_err("no room");
        assert!(error.is::<tower::load_shed::error::Overloaded>(), "{error}");
        // A call that waits for room is woken then.
        let (tell, told) = tokio::sync::oneshot::channel();
        let waits = tokio::spawn(async move {
            let mut client = client;
            let at_first = Service::poll_ready(&mut client, &mut Context::from_waker(Waker::noop()));
            let _ = tell.send(());
            let reply = Service::call(ServiceExt::ready(&mut client).await?, b"then".to_vec()).await?;
            Ok::<_, CallError>((at_first, reply))
        });
        told.await.expect("it has asked");
        begun.into_iter().for_each(|later| later.answer(b"yes"));
        for task in tasks {
            assert_eq!(task.await.expect("no panic"), Ok(b"yes".to_vec()));
        }
        held.recv().expect("the one that has waited").answer(b"yes");
        assert_eq!(waits.await.expect("no panic"), Ok((Poll::Pending, b"yes".to_vec())));
    });
    server.stop();
}

#[test]
fn a_client_whose_server_is_gone_is_ready_to_say_so() {
    let _watchdog = Watchdog::new("a server that is gone");
    let server = Server::bind(&endpoint("tower-gone")).inline(false).serve(echo).expect("a server");
    let mut client = connect(&server);
    server.stop();
    wait_until("the end of the connection", || {
        let ready = Service::poll_ready(&mut client, &mut Context::from_waker(Waker::noop()));
        assert_eq!(ready, Poll::Ready(Ok(())));
        executor()
            .block_on(Service::call(&mut client, vec![1]))
            .is_err_and(|error| error == CallError::ServerGone)
            .then_some(())
    });
}
