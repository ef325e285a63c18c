//! Replies given after the handler has returned: each RPC ends once, with its own reply or with an
//! error that gives the reason, and its slots and credit come back.

use crate::support::boxed::boxed;
use crate::support::exchange::ends_of;
use crate::support::log_file::LogFile;
use crate::support::patient_client;
use crate::support::{KINDS, PATIENCE, endpoint, endpoints, open_one, unhurried_config, wait_until_freed};
use nebula::{
    AsyncClient, CallError, Client, ClientConfig, Description, Fault, FlowKind, IdlePolicy, LaterError, LaterReply,
    Reply, RunningServer, ServeError, Server, ServerConfig, Service, Ticket,
};
use nebula_nic::replay_text;
use nebula_testing::wait::{Watchdog, throughout, wait_until};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn config(laters: u16, change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    unhurried_config(|config| {
        config.later_max = Some(laters);
        change(config);
    })
}

type Held = (Vec<u8>, LaterReply);

/// Hands the request and its reply to another thread.
struct HandOn(Sender<Held>);

impl Service for HandOn {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        // Bytes written before `later` are not sent.
        reply.write(b"not this");
        let later = reply.later().expect("later_max is set");
        let _ = self.0.send((request.to_vec(), later));
    }
}

fn serve(at: &str, config: ServerConfig) -> (RunningServer, Receiver<Held>) {
    let (hand_on, held) = channel();
    (Server::bind(at).config(config).serve(HandOn(hand_on)).expect("a server"), held)
}

fn client(server: &RunningServer, slots: u32) -> Client {
    client_with(server, patient_client().slots(slots))
}

fn client_with(server: &RunningServer, config: ClientConfig) -> Client {
    let config = config.call_timeout(PATIENCE).flow(FlowKind::Unbounded);
    Client::connect_with(server.endpoint().clone(), config).expect("a connection")
}

/// Submits all at once, as far as there is room; the ends, in order.
fn ask_all(client: &mut Client, requests: &[Vec<u8>]) -> Vec<Result<Vec<u8>, CallError>> {
    let (mut tickets, mut ends) = (Vec::new(), BTreeMap::new());
    wait_until("the end of each RPC", || {
        while let Some(ticket) = requests.get(tickets.len()).and_then(|request| client.submit(request).ok()) {
            tickets.push(ticket);
        }
        while let Some(done) = client.poll() {
            assert!(ends.insert(done.ticket, done.result.map(<[u8]>::to_vec)).is_none(), "ended twice");
        }
        (ends.len() == requests.len()).then_some(())
    });
    tickets.iter().filter_map(|ticket| ends.remove(ticket)).collect()
}

#[test]
fn replies_of_other_threads_reach_who_has_asked_in_any_order_and_nothing_is_left() {
    let _watchdog = Watchdog::new("replies of other threads");
    for (name, change) in KINDS {
        for at in endpoints(&format!("later-{}", name.replace(' ', "-"))) {
            let (server, held) = serve(&at, config(20, change));
            let held = Arc::new(Mutex::new(held));
            // Two threads that hold some back, so that answers overtake each other.
            for keep in [1_usize, 5] {
                let held = held.clone();
                std::thread::spawn(move || {
                    let mut kept: Vec<Held> = Vec::new();
                    loop {
                        let next = held.lock().expect("not poisoned").recv_timeout(Duration::from_millis(1));
                        let is_silent = next.is_err();
                        if matches!(next, Err(RecvTimeoutError::Disconnected)) {
                            return;
                        }
                        kept.extend(next);
                        if kept.len() > keep || is_silent {
                            kept.drain(..).rev().for_each(|(request, later)| later.answer(&request));
                        }
                    }
                });
            }
            let config = patient_client().slots(512).reply_bytes_max(3000);
            let mut client = client_with(&server, config);
            let mut asked = 0_u32;
            for round in 0..20_u32 {
                let requests: Vec<Vec<u8>> = (0..30_u32)
                    .map(|at| {
                        // Some requests have several packets, and so do their replies.
                        let mut request = vec![0; if at % 10 == 0 { 2000 } else { 8 }];
                        request[..8].copy_from_slice(&[round.to_le_bytes(), at.to_le_bytes()].concat());
                        request
                    })
                    .collect();
                asked += 30;
                for (end, request) in ask_all(&mut client, &requests).iter().zip(&requests) {
                    assert!(end.as_ref() == Ok(request), "{name} at {at}: {end:?}");
                }
            }
            let status = wait_until("all freed", || {
                Some(server.status().read()).filter(|seen| seen.freed == u64::from(asked) && seen.slots_used == 0)
            });
            assert_eq!((status.dispatched, status.violations), (u64::from(asked), 0));
            server.stop();
        }
    }
}

#[test]
fn a_worker_has_no_more_than_its_credit_and_goes_on_with_each_reply() {
    let _watchdog = Watchdog::new("no more than its credit");
    for inline in [false, true] {
        let (server, held) = serve(&endpoint("credit"), config(8, |config| config.inline = Some(inline)));
        let mut client = client(&server, 64);
        let tickets: Vec<Ticket> = (0..30_u8).map(|at| client.submit(&[at]).expect("room")).collect();
        let mut begun: Vec<Held> = (0..10).map(|_| held.recv().expect("one more")).collect();
        wait_until("all to have come", || (server.status().read().completed == 30).then_some(()));
        assert!(held.try_recv().is_err(), "jbsq:2 and 8 later replies");
        let status = server.status().read();
        assert_eq!((status.dispatched, status.freed), (10, 0), "{status:?}");
        // Each reply makes room for one more.
        for _ in 0..20 {
            let (request, later) = begun.remove(begun.len() / 2);
            later.answer(&request);
            begun.push(held.recv().expect("one more"));
            assert!(held.try_recv().is_err());
        }
        begun.into_iter().for_each(|(request, later)| later.answer(&request));
        let ends = ends_of(&mut client, tickets.len());
        assert!((0_u8..).zip(&tickets).all(|(at, ticket)| ends[ticket] == Ok(vec![at])));
        drop(client);
        wait_until_freed(server.status(), 30);
        server.stop();
    }
}

#[test]
fn one_that_is_dropped_too_long_or_of_a_handler_that_panicked_ends_with_its_fault() {
    let _watchdog = Watchdog::new("faults");
    let kept = Arc::new(Mutex::new(Vec::new()));
    for at in endpoints("later-faults") {
        let keep = kept.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            let mut later = reply.later().expect("later_max is set");
            assert_eq!(reply.later().unwrap_err(), LaterError::Taken);
            match request {
                b"dropped" => drop(later),
                b"long" => {
                    later.write(&vec![1; later.capacity() + 1]);
                    later.send();
                }
                b"panics" => {
                    keep.lock().expect("not poisoned").push(later);
                    std::panic::resume_unwind(Box::new("meant"));
                }
                _ => later.answer(request),
            }
        };
        let server = Server::bind(&at).config(config(4, |_| ())).serve(boxed(service)).expect("a server");
        let mut client = client(&server, 8);
        for _ in 0..10 {
            assert_eq!(client.call(b"dropped"), Err(CallError::Fault(Fault::Unanswered)));
            assert_eq!(client.call(b"long"), Err(CallError::Fault(Fault::ReplyTooLarge)));
            assert_eq!(client.call(b"panics"), Err(CallError::Fault(Fault::HandlerPanicked)));
            // A late reply of that handler reaches no RPC.
            kept.lock().expect("not poisoned").drain(..).for_each(|later| later.answer(b"late"));
            assert_eq!(client.call(b"fine"), Ok(&b"fine"[..]));
        }
        wait_until("no slots used", || (server.status().read().slots_used == 0).then_some(()));
        server.stop();
    }
}

#[test]
fn a_server_that_stops_ends_what_waits_and_replies_after_that_are_nobody_s() {
    let _watchdog = Watchdog::new("a stop");
    for (name, change) in KINDS {
        let (server, held) = serve(&endpoint("later-stop"), config(4, change));
        let mut client = client(&server, 8);
        let tickets: Vec<Ticket> = (0..3_u8).map(|at| client.submit(&[at]).expect("room")).collect();
        let begun: Vec<Held> = (0..3).map(|_| held.recv().expect("one more")).collect();
        server.stop();
        begun.into_iter().for_each(|(request, later)| later.answer(&request));
        let ended = [Err(CallError::Fault(Fault::Unanswered)), Err(CallError::ServerGone)];
        let ends = ends_of(&mut client, tickets.len());
        assert!(ends.values().all(|end| ended.contains(end)), "{name}: {ends:?}");
    }
}

#[test]
fn a_client_that_leaves_before_its_reply_leaves_no_slots_behind() {
    let _watchdog = Watchdog::new("a client that leaves");
    let (server, held) = serve(&endpoint("later-gone"), config(4, |_| ()));
    for _ in 0..20 {
        let mut leaving = client(&server, 8);
        for at in 0..3_u8 {
            leaving.submit(&[at]).expect("room");
        }
        let begun: Vec<Held> = (0..3).map(|_| held.recv().expect("one more")).collect();
        drop(leaving);
        wait_until("its end to be seen", || (server.status().read().clients <= 1).then_some(()));
        begun.into_iter().for_each(|(request, later)| later.answer(&request));
    }
    wait_until_freed(server.status(), 60);
    server.stop();
}

#[test]
fn an_rpc_of_a_worker_by_hand_is_answered_later_too() {
    let _watchdog = Watchdog::new("by hand");
    let name = endpoint("later-hand");
    let (server, worker) = open_one(&name, config(4, |_| ()));
    let mut client = client(&server, 8);
    let tickets: Vec<Ticket> = (0..5_u8).map(|at| client.submit(&[at]).expect("room")).collect();
    let mut kept = Vec::new();
    wait_until("five", || {
        if let Some(rpc) = worker.try_wait_for_rpc() {
            let request = rpc.payload().to_vec();
            kept.push((request, rpc.later().expect("later_max is set")));
        }
        (kept.len() == 5).then_some(())
    });
    assert!(client.poll().is_none());
    let answers =
        std::thread::spawn(move || kept.into_iter().rev().for_each(|(request, later)| later.answer(&request)));
    answers.join().expect("sent");
    assert!(worker.try_wait_for_rpc().is_none());
    let ends = ends_of(&mut client, tickets.len());
    assert!((0_u8..).zip(&tickets).all(|(at, ticket)| ends[ticket] == Ok(vec![at])));
    server.stop();
}

#[test]
fn all_that_has_ended_is_taken_at_once_whatever_was_sent_first() {
    let _watchdog = Watchdog::new("taken at once");
    let name = endpoint("later-taken");
    let (server, worker) = open_one(&name, config(4, |_| ()));
    let mut client = client(&server, 8);
    let tickets: Vec<Ticket> = (0..4_u8).map(|at| client.submit(&[at]).expect("room")).collect();
    let mut kept = Vec::new();
    wait_until("four", || {
        if let Some(rpc) = worker.try_wait_for_rpc() {
            let request = rpc.payload().to_vec();
            kept.push((request, rpc.later().expect("later_max is set")));
        }
        (kept.len() == 4).then_some(())
    });
    let first = kept.remove(0);
    let mut taken = Vec::new();
    let mut take = |client: &mut Client| {
        client.take_all(|done| taken.push((done.ticket, done.result.map(<[u8]>::to_vec))));
        std::mem::take(&mut taken)
    };
    assert!(take(&mut client).is_empty());
    kept.into_iter().for_each(|(request, later)| later.answer(&request));
    assert!(worker.try_wait_for_rpc().is_none(), "a worker that asks for more sends what was given");
    let others: Vec<_> = (1_u8..).zip(&tickets[1..]).map(|(at, &ticket)| (ticket, Ok(vec![at]))).collect();
    assert_eq!(take(&mut client), others, "and not the first, which has no answer");
    first.1.answer(&first.0);
    assert!(worker.try_wait_for_rpc().is_none());
    assert_eq!(client.take_all(|_| ()), 1);
    assert_eq!(client.take_all(|_| ()), 0);
    server.stop();
}

#[test]
fn a_worker_that_sleeps_until_packets_come_is_woken_by_a_reply() {
    let _watchdog = Watchdog::new("a worker that sleeps");
    for inline in [false, true] {
        let blocks = config(4, |config| (config.inline, config.idle) = (Some(inline), IdlePolicy::Block));
        let (server, held) = serve("udp://127.0.0.1:0", blocks);
        let mut client = client(&server, 8);
        for at in 0..20_u8 {
            let ticket = client.submit(&[at]).expect("room");
            client.flush();
            let (request, later) = wait_until("it is begun", || {
                let _ = client.poll();
                held.try_recv().ok()
            });
            // Usually long enough for the workers to stop polling.
            throughout(Duration::from_millis(2), || assert!(client.poll().is_none(), "it is not answered"));
            later.answer(&request);
            assert_eq!(ends_of(&mut client, 1)[&ticket], Ok(vec![at]));
        }
        server.stop();
    }
}

#[test]
fn without_later_max_a_handler_is_told_and_a_service_may_say_it_for_its_server() {
    let told = Arc::new(AtomicU32::new(0));
    let tells = told.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        if reply.later().is_err_and(|error| error == LaterError::NotConfigured) {
            tells.fetch_add(1, Ordering::Relaxed);
        }
        reply.write(request);
    };
    for inline in [false, true] {
        let server = Server::bind(&endpoint("not-later")).inline(inline).serve(&*Box::leak(Box::new(service.clone())));
        let server = server.expect("a server");
        assert_eq!(client(&server, 4).call(b"at once"), Ok(&b"at once"[..]));
        server.stop();
    }
    assert_eq!(told.load(Ordering::Relaxed), 2);
    struct Says(HandOn);
    impl Service for Says {
        fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
            self.0.serve(request, reply);
        }
        fn describe(&self) -> Description {
            Description::default().later_max(4)
        }
    }
    let (hand_on, held) = channel();
    let server = Server::bind(&endpoint("says-later")).inline(false).serve(Says(HandOn(hand_on))).expect("a server");
    let answers = std::thread::spawn(move || held.recv().map(|(request, later)| later.answer(&request)));
    assert_eq!(client(&server, 4).call(b"later"), Ok(&b"later"[..]));
    answers.join().expect("no panic").expect("one came");
    server.stop();
}

#[test]
fn what_a_worker_cannot_have_is_refused_with_the_reason() {
    let refusal =
        |config: ServerConfig| Server::bind(&endpoint("no-later")).config(config).open().expect_err("refused");
    assert!(matches!(refusal(config(63, |_| ())), ServeError::Later { got: 63, max: 62 }));
    for policy in ["rss", "mcs-lock", "work-stealing", "preemptive:5us", "altocumulus:1"] {
        let config = config(1, |config| config.policy = policy.parse().expect("a policy"));
        assert!(matches!(refusal(config), ServeError::LaterPolicy { .. }), "{policy}");
    }
}

#[test]
fn the_decisions_of_a_run_with_later_replies_replay() {
    let _watchdog = Watchdog::new("replay");
    let file = LogFile::new("later");
    let (server, held) = serve(
        &endpoint("later-log"),
        config(6, |config| (config.workers, config.decision_log) = (2, Some(file.0.clone()))),
    );
    let mut client = client(&server, 32);
    let tickets: Vec<Ticket> = (0..32_u8).map(|at| client.submit(&[at]).expect("room")).collect();
    let answers = std::thread::spawn(move || {
        let mut kept: Vec<Held> = Vec::new();
        for held in held.iter().take(32) {
            kept.push(held);
            if kept.len() == 6 {
                kept.drain(..).rev().for_each(|(request, later)| later.answer(&request));
            }
        }
        kept.into_iter().for_each(|(request, later)| later.answer(&request));
    });
    ends_of(&mut client, tickets.len());
    answers.join().expect("all answered");
    drop(client);
    wait_until_freed(server.status(), 32);
    server.stop();
    let log = file.text();
    assert!(log.contains("policy=jbsq:8"), "{}", log.lines().next().unwrap_or_default());
    assert_eq!(log.matches(" free ").count(), 32);
    replay_text(&log).expect("the same decisions");
}

#[test]
fn a_handler_calls_another_server_and_replies_when_that_has() {
    let _watchdog = Watchdog::new("two tiers");
    for (front_at, back_at) in
        [(endpoint("front"), endpoint("back")), ("udp://127.0.0.1:0".to_owned(), "udp://127.0.0.1:0".to_owned())]
    {
        let service = |request: &[u8], reply: &mut Reply<'_>| {
            reply.write(&request.iter().rev().copied().collect::<Vec<u8>>());
        };
        let back = Server::bind(&back_at).config(config(0, |config| config.inline = Some(true))).serve(boxed(service));
        let back = back.expect("a server");
        let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let executor = executor.expect("an executor");
        let (backend, tasks) =
            (AsyncClient::connect(back.endpoint().clone()).wait().expect("a connection"), executor.handle().clone());
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            let (request, later) = (request.to_vec(), reply.later().expect("later_max is set"));
            let call = backend.call(request);
            tasks.spawn(async move {
                // If the call fails, the RPC ends unanswered.
                if let Ok(reply) = call.await {
                    later.answer(&reply);
                }
            });
        };
        let front = Server::bind(&front_at).config(config(32, |_| ())).serve(boxed(service)).expect("a server");
        // It outlasts the handler's call, and so learns of that call's end.
        let patient = ClientConfig::default().call_timeout(PATIENCE);
        let asks = AsyncClient::connect_with(front.endpoint().clone(), patient).wait().expect("a connection");
        executor.block_on(async {
            let tasks: Vec<_> = (0..16_u8)
                .map(|task| {
                    let asks = asks.clone();
                    tokio::spawn(async move {
                        for call in 0..50_u8 {
                            assert_eq!(asks.call([task, call]).await, Ok(vec![call, task]));
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("it has not panicked");
            }
        });
        back.stop();
        let fault = executor.block_on(asks.call([1, 2]));
        assert_eq!(fault, Err(CallError::Fault(Fault::Unanswered)));
        front.stop();
    }
}
