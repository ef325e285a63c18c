//! A client of many tasks: each call ends once and with its own reply, whether its task sleeps or
//! not and whatever happens to the others.

use crate::support::boxed::boxed;
use crate::support::{PATIENCE, echo, endpoint, everywhere, patient_client, server_config, wait_until_clean};
use nebula::{
    AsyncClient, Call, CallError, ClientConfig, Endpoint, Options, Queueing, Reply, RetryPolicy, RunningServer, Server,
    ServerConfig, Span, SubmitError,
};
use nebula_testing::wait::{Watchdog, throughout, wait_until};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

fn executor() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("an executor")
}

fn roomy() -> ServerConfig {
    server_config(|config| config.queueing = Queueing::Unbounded { recv_buffer_bytes: 16 << 20 })
}

/// A server that answers once the test allows it. The channel reports the requests that it has
/// begun.
fn held(at: &str) -> (RunningServer, Arc<AtomicBool>, mpsc::Receiver<Vec<u8>>) {
    let (tell, begun) = mpsc::channel();
    let may_answer = Arc::new(AtomicBool::new(false));
    let goes_on = may_answer.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        let _ = tell.send(request.to_vec());
        wait_until("leave to answer", || goes_on.load(Ordering::Acquire).then_some(()));
        reply.write(request);
    };
    (Server::bind(at).config(roomy()).serve(boxed(service)).expect("a server"), may_answer, begun)
}

fn connect(server: &RunningServer, slots: u32) -> AsyncClient {
    let config = patient_client().slots(slots);
    AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection")
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

fn poll<R: AsRef<[u8]> + Unpin>(call: &mut Call<R>, woken: &Arc<Woken>) -> Poll<Result<Vec<u8>, CallError>> {
    Pin::new(call).poll(&mut Context::from_waker(&Waker::from(woken.clone())))
}

/// Polls a call until it sleeps: it was polled and nothing is about to wake it.
fn put_to_sleep<R: AsRef<[u8]> + Unpin>(call: &mut Call<R>, woken: &Arc<Woken>) {
    loop {
        let before = woken.times();
        assert!(poll(call, woken).is_pending());
        if woken.times() == before {
            return;
        }
    }
}

#[test]
fn many_tasks_get_their_own_replies_polling_or_asleep_with_room_for_few() {
    let _watchdog = Watchdog::new("many tasks");
    for at in everywhere("tasks") {
        let server = Server::bind(&at).config(roomy()).serve(echo).expect("a server");
        for poll_for in [Span::ZERO, Span::from_us(20), Span::from_ms(5)] {
            let client = connect(&server, 16).poll_for(poll_for);
            let calls = |task: u32, client: AsyncClient| async move {
                for call in 0..10_u32 {
                    let request = [task.to_le_bytes(), call.to_le_bytes()].concat();
                    assert_eq!(client.call(&request).await.as_deref(), Ok(&request[..]));
                }
            };
            executor().block_on(async {
                let tasks: Vec<_> = (0..64).map(|task| tokio::spawn(calls(task, client.clone()))).collect();
                for task in tasks {
                    task.await.expect("it has not panicked");
                }
            });
            assert_eq!(client.outstanding(), 0);
        }
        server.stop();
    }
}

#[test]
fn a_task_that_sleeps_is_woken_by_its_answer_and_by_nothing_before() {
    let _watchdog = Watchdog::new("a task that sleeps");
    for at in everywhere("asleep") {
        let (server, may_answer, begun) = held(&at);
        let client = connect(&server, 4).poll_for(Span::ZERO);
        for round in 0..20_u8 {
            may_answer.store(false, Ordering::Release);
            let woken = Arc::<Woken>::default();
            let mut call = client.call([round]);
            put_to_sleep(&mut call, &woken);
            assert_eq!(begun.recv(), Ok(vec![round]));
            let asleep = woken.times();
            may_answer.store(true, Ordering::Release);
            wait_until("the task to be woken", || (woken.times() > asleep).then_some(()));
            assert_eq!(poll(&mut call, &woken), Poll::Ready(Ok(vec![round])));
        }
        server.stop();
    }
}

#[test]
fn a_full_client_refuses_or_has_calls_wait_in_their_order_and_one_that_goes_lets_the_next_pass() {
    let _watchdog = Watchdog::new("a full client");
    let (server, may_answer, begun) = held(&endpoint("full"));
    let client = connect(&server, 2).poll_for(Span::ZERO);
    let woken: Vec<Arc<Woken>> = (0..6).map(|_| Arc::default()).collect();
    let mut calls: Vec<_> = (0..6_u8).map(|call| client.call([call])).collect();
    calls.iter_mut().zip(&woken).for_each(|(call, woken)| put_to_sleep(call, woken));
    assert_eq!(begun.recv(), Ok(vec![0]));
    assert_eq!(client.outstanding(), 2);
    let mut refused = client.clone().refuse_when_full().call([9]);
    let full = CallError::NotSent(SubmitError::Full);
    assert_eq!(poll(&mut refused, &Arc::default()), Poll::Ready(Err(full)));
    // Drops the first call that waits, and one in the middle.
    drop((calls.remove(4), calls.remove(2)));
    may_answer.store(true, Ordering::Release);
    for (call, at) in calls.iter_mut().zip([0, 1, 3, 5]) {
        let woken = &woken[usize::from(at)];
        let reply = wait_until("a reply", || match poll(call, woken) {
            Poll::Ready(reply) => Some(reply),
            Poll::Pending => None,
        });
        assert_eq!(reply, Ok(vec![at]));
    }
    drop((calls, refused));
    let order: Vec<u8> = begun.try_iter().flatten().collect();
    assert_eq!(order, [1, 3, 5], "in their order, without those that were dropped");
    drop(client);
    wait_until_clean(server.status(), 0);
    server.stop();
}

#[test]
fn dropped_calls_leave_nothing_behind_at_client_and_server() {
    let _watchdog = Watchdog::new("dropped calls");
    for at in everywhere("dropped") {
        let server = Server::bind(&at).config(roomy()).workers(2).serve(echo).expect("a server");
        let client = connect(&server, 4).poll_for(Span::ZERO);
        for round in 0..300_u32 {
            let woken = Arc::<Woken>::default();
            let mut calls: Vec<_> = (0..6_u32).map(|at| client.call((round * 6 + at).to_le_bytes())).collect();
            // Some calls were never polled; others are sent, wait for room, or were answered.
            for (at, call) in (0..).zip(&mut calls) {
                if (round >> at) & 1 == 0 && poll(call, &woken).is_ready() {
                    calls.truncate(0);
                    break;
                }
            }
        }
        executor().block_on(async {
            for call in 0..8_u8 {
                assert_eq!(client.call([call; 3]).await, Ok(vec![call; 3]));
            }
        });
        assert_eq!(client.outstanding(), 0);
        drop(client);
        let status = wait_until("no slots used", || Some(server.status().read()).filter(|seen| seen.slots_used == 0));
        assert_eq!(status.violations, 0, "{status:?}");
        server.stop();
    }
}

#[test]
fn what_takes_too_long_ends_in_time_although_the_task_sleeps() {
    let _watchdog = Watchdog::new("what takes too long");
    for at in everywhere("late") {
        let (server, may_answer, _begun) = held(&at);
        let config = ClientConfig::default().call_timeout(Duration::from_secs(1));
        let client = AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection");
        executor().block_on(async {
            let within = Options::default().deadline(Duration::from_millis(5));
            let end = client.call_with(b"a deadline", within).await;
            // If the executor was late, the call was not even sent.
            assert!(matches!(end, Err(CallError::TimedOut | CallError::Expired)), "{end:?}");
            assert_eq!(client.call(b"the longest wait").await, Err(CallError::TimedOut));
            may_answer.store(true, Ordering::Release);
            let mut end = client.call(b"in time").await;
            // On a busy machine the first call may be too late.
            while end == Err(CallError::TimedOut) {
                end = client.call(b"in time").await;
            }
            assert_eq!(end, Ok(b"in time".to_vec()));
        });
        assert_eq!(client.outstanding(), 0);
        server.stop();
    }
}

#[test]
fn one_that_finds_no_room_in_time_ends_too_and_was_not_executed() {
    let _watchdog = Watchdog::new("no room in time");
    let (server, may_answer, begun) = held(&endpoint("no-room"));
    let config = ClientConfig::default().slots(2).call_timeout(Duration::from_secs(1));
    let client = AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection");
    executor().block_on(async {
        let calls: Vec<_> = (0..5_u8)
            .map(|at| {
                let client = client.clone();
                tokio::spawn(async move { client.call([at]).await })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.expect("it has not panicked"), Err(CallError::TimedOut));
        }
        may_answer.store(true, Ordering::Release);
        // The calls that were sent are executed, and then there is room.
        while client.call([5]).await != Ok(vec![5]) {}
    });
    let mut executed: Vec<u8> = begun.try_iter().flatten().filter(|&call| call < 5).collect();
    executed.sort_unstable();
    executed.dedup();
    assert!(executed.len() <= 2, "only two had room: {executed:?}");
    server.stop();
}

#[test]
fn what_is_refused_is_tried_again_while_its_task_sleeps() {
    let _watchdog = Watchdog::new("tried again");
    for at in everywhere("again") {
        let config = server_config(|config| (config.slo, config.rpc_bytes_max) = (Span::from_us(5), 1000));
        // The queue fills up before the first answer.
        let may_answer = Arc::new(AtomicBool::new(false));
        let goes_on = may_answer.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            wait_until("leave to answer", || goes_on.load(Ordering::Acquire).then_some(()));
            reply.write(request);
        };
        let server = Server::bind(&at).config(config).serve(boxed(service)).expect("a server");
        let mut config = patient_client().slots(64);
        config.retry = RetryPolicy::BackOff { first: Span::from_us(500), factor: 1, attempts: u32::MAX, seed: 1 };
        let client = AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection");
        let client = client.poll_for(Span::ZERO);
        executor().block_on(async {
            let calls: Vec<_> = (0..32_u8)
                .map(|at| {
                    let client = client.clone();
                    tokio::spawn(async move { client.call([at]).await })
                })
                .collect();
            wait_until("a refusal", || (server.status().read().nacked_queue_bound > 0).then_some(()));
            may_answer.store(true, Ordering::Release);
            for (at, call) in (0_u8..).zip(calls) {
                assert_eq!(call.await.expect("it has not panicked"), Ok(vec![at]));
            }
        });
        server.stop();
    }
}

#[test]
fn a_server_that_stops_is_an_error_for_those_that_sleep() {
    let _watchdog = Watchdog::new("a server that stops");
    for at in everywhere("stops") {
        let (server, may_answer, begun) = held(&at);
        let config = ClientConfig::default().transmissions_max(3).call_timeout(PATIENCE);
        let client = AsyncClient::connect_with(server.endpoint().clone(), config).wait().expect("a connection");
        let client = client.poll_for(Span::ZERO);
        executor().block_on(async {
            let asleep: Vec<_> = (0..3_u8)
                .map(|at| {
                    let client = client.clone();
                    tokio::spawn(async move { client.call([at]).await })
                })
                .collect();
            begun.recv().expect("one is begun");
            // The handler's thread must end, and must not answer more than it has begun.
            let stop = server.stopper();
            stop.stop();
            may_answer.store(true, Ordering::Release);
            server.stop();
            let mut ends = Vec::new();
            for call in asleep {
                ends.push(call.await.expect("it has not panicked"));
            }
            // A task that begins late finds the server gone before it sends.
            let gone = [CallError::ServerGone, CallError::NotSent(SubmitError::ServerGone)];
            let is_gone = |error: &CallError| gone.contains(error);
            // Three transmissions may be over before a busy machine stops the server.
            let is_over = |error: &CallError| is_gone(error) || *error == CallError::TimedOut;
            assert!(ends.iter().all(|end| end.as_ref().err().is_none_or(is_over)), "{ends:?}");
            assert!(client.call(b"after").await.is_err_and(|error| is_gone(&error)));
        });
    }
}

#[test]
fn refusals_and_requests_that_are_too_long_are_errors_of_the_call() {
    let _watchdog = Watchdog::new("refusals");
    for at in everywhere("refusals") {
        let config = server_config(|config| {
            config.slo = Span::from_us(5);
            config.rpc_bytes_max = 1000;
        });
        let (tell, begun) = mpsc::channel();
        let may_answer = Arc::new(AtomicBool::new(false));
        let goes_on = may_answer.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            let _ = tell.send(());
            wait_until("leave to answer", || goes_on.load(Ordering::Acquire).then_some(()));
            reply.write(request);
        };
        let server = Server::bind(&at).config(config).serve(boxed(service)).expect("a server");
        let client = connect(&server, 64).poll_for(Span::ZERO);
        executor().block_on(async {
            let long = vec![1; 1_000_000];
            assert!(matches!(client.call(long).await, Err(CallError::NotSent(SubmitError::TooLarge { .. }))));
            let calls: Vec<_> = (0..32_u8)
                .map(|at| {
                    let client = client.clone();
                    tokio::spawn(async move { client.call([at]).await })
                })
                .collect();
            wait_until("a refusal", || (server.status().read().nacked_queue_bound > 0).then_some(()));
            may_answer.store(true, Ordering::Release);
            let mut refused = 0;
            for (at, call) in (0_u8..).zip(calls) {
                match call.await.expect("it has not panicked") {
                    Ok(reply) => assert_eq!(reply, [at]),
                    Err(CallError::Nack { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(refused + begun.try_iter().count(), 32, "what was refused was not executed");
        });
        server.stop();
    }
}

/// A task whose waker owns it: dropping the last waker drops the call.
struct Owning(std::sync::Mutex<Option<Call<[u8; 1]>>>);

impl Wake for Owning {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_call_that_its_waker_owns_is_dropped_by_its_own_end() {
    let _watchdog = Watchdog::new("a waker that owns");
    let (server, may_answer, begun) = held(&endpoint("owning"));
    let client = connect(&server, 4).poll_for(Span::ZERO);
    let task = Arc::new(Owning(std::sync::Mutex::new(Some(client.call([1])))));
    let waker = Waker::from(task.clone());
    let mut polls = 0;
    // The first poll only lets others run.
    while polls < 3 {
        let mut call = task.0.lock().expect("not poisoned");
        let call = call.as_mut().expect("there");
        assert!(Pin::new(call).poll(&mut Context::from_waker(&waker)).is_pending());
        polls += 1;
    }
    assert_eq!(begun.recv(), Ok(vec![1]));
    // Now only the client's own waker keeps the task.
    drop(waker);
    let left = Arc::downgrade(&task);
    drop(task);
    assert!(left.upgrade().is_some());
    may_answer.store(true, Ordering::Release);
    wait_until("the call to be dropped", || left.upgrade().is_none().then_some(()));
    server.stop();
}

#[test]
fn a_call_writes_its_reply_into_the_buffer_that_it_is_given() {
    let server = Server::bind(&endpoint("buffer")).inline(false).serve(echo).expect("a server");
    let client = connect(&server, 4);
    executor().block_on(async {
        let buffer = Vec::with_capacity(100);
        let before = buffer.as_ptr();
        let reply = client.call(b"short").into_buffer(buffer).await.expect("an echo");
        assert_eq!((&reply[..], reply.as_ptr()), (&b"short"[..], before));
        // One task may await several calls.
        let mut calls: Vec<_> = (0..20_u8).map(|at| client.call([at])).collect();
        for (at, call) in (0..).zip(&mut calls) {
            assert_eq!(poll_fn(|cx| Pin::new(&mut *call).poll(cx)).await, Ok(vec![at]));
        }
    });
    server.stop();
}

#[test]
fn the_endpoint_is_checked_as_for_any_client() {
    assert!(AsyncClient::connect("shm://nobody-serves-here").wait().is_err());
    assert!(AsyncClient::connect("http://example").wait().is_err());
    let outside = Endpoint::Udp(([192, 0, 2, 1], 7400).into());
    assert!(AsyncClient::connect(outside).wait().is_err(), "another machine, and no key");
}

#[test]
fn a_task_sleeps_while_it_connects_and_may_be_dropped_meanwhile() {
    let _watchdog = Watchdog::new("connecting");
    for at in everywhere("connecting") {
        let server = Server::bind(&at).config(roomy()).serve(echo).expect("a server");
        let at = server.endpoint().clone();
        let (woken, mut connecting) = (Arc::<Woken>::default(), AsyncClient::connect(at.clone()));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut connecting).poll(&mut cx).is_pending());
        let waker = Waker::from(woken.clone());
        // The last waker counts.
        let mut polled = Pin::new(&mut connecting).poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            wait_until("the task to be woken", || (woken.times() > 0).then_some(()));
            polled = Pin::new(&mut connecting).poll(&mut cx);
        }
        assert!(matches!(polled, Poll::Ready(Ok(_))), "{polled:?}");
        let mut dropped = AsyncClient::connect(at.clone());
        assert!(Pin::new(&mut dropped).poll(&mut cx).is_pending());
        drop(dropped);
        let reply = executor().block_on(async {
            let client = AsyncClient::connect(at).await.expect("a connection");
            client.call(b"connected").await
        });
        assert_eq!(reply, Ok(b"connected".to_vec()));
        server.stop();
    }
    let nobody = executor().block_on(AsyncClient::connect("shm://nobody-serves-here"));
    assert!(nobody.is_err(), "{nobody:?}");
}

#[test]
fn a_call_that_has_waited_for_room_polls_as_long_as_any_once_it_is_sent() {
    let _watchdog = Watchdog::new("room, then polls");
    let (allow, allowed) = mpsc::channel::<()>();
    let allowed = std::sync::Mutex::new(allowed);
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        // Without the test, all may be answered.
        let _ = allowed.lock().expect("not poisoned").recv();
        reply.write(request);
    };
    let server = Server::bind(&endpoint("room")).config(roomy()).serve(boxed(service)).expect("a server");
    // The handler's end must go before the server that waits for the handler.
    let allow = allow;
    let poll_for = Duration::from_millis(5);
    let client = connect(&server, 2).poll_for(poll_for);
    let woken: Vec<Arc<Woken>> = (0..3).map(|_| Arc::default()).collect();
    let mut calls: Vec<_> = (0..3_u8).map(|call| client.call([call])).collect();
    calls.iter_mut().zip(&woken).for_each(|(call, woken)| put_to_sleep(call, woken));
    let asleep = woken[2].times();
    throughout(2 * poll_for, || {});
    allow.send(()).expect("a handler");
    let first = wait_until("the first reply", || Some(poll(&mut calls[0], &woken[0])).filter(Poll::is_ready));
    assert_eq!(first, Poll::Ready(Ok(vec![0])));
    wait_until("room", || (woken[2].times() > asleep).then_some(()));
    let before = woken[2].times();
    for polls in 1..=2 {
        assert!(poll(&mut calls[2], &woken[2]).is_pending(), "the second is not answered yet");
        assert_eq!(woken[2].times(), before + polls, "it was sent and then looked for, and sleeps after neither");
    }
    drop((allow, calls));
    server.stop();
}
