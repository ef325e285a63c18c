//! Every RPC ends exactly once: by a reply, a fault, a NACK, a deadline or the end of its server.

mod retries;

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::exchange::{self, next_end};
use crate::support::{echo, endpoint, open_one, server_config, wait_until_clean};
use nebula::{
    CallError, Client, ClientConfig, Description, Fault, NackReason, Policy, Queueing, Reply, Requests, RetryPolicy,
    Rpc, RunningServer, Server, ServerConfig, Service, Span, Stage, Steering, SubmitError, Worker,
};
use nebula_testing::wait::{Watchdog, spin, wait_until};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// A server that the caller drives: it has one worker, which also runs the engine.
fn by_hand(test: &str, change: impl FnOnce(&mut ServerConfig)) -> (String, RunningServer, Worker) {
    let name = endpoint(test);
    let config = server_config(|config| {
        config.inline = Some(true);
        change(config);
    });
    let (server, worker) = open_one(&name, config);
    (name, server, worker)
}

fn next_rpc(worker: &Worker) -> Rpc<'_> {
    wait_until("an RPC", || worker.try_wait_for_rpc())
}

/// At most two RPCs may wait for the one core.
fn two_may_wait(config: &mut ServerConfig) {
    (config.slo, config.service_mean, config.policy) = (Span::from_us(1), Span::from_us(1), Policy::Jbsq(1));
    config.clients_waiting_max = 0;
}

#[test]
fn rpcs_one_at_a_time_stay_in_the_first_slots_of_ring_and_buffer() {
    let _watchdog = Watchdog::new("first slots");
    let (name, server, worker) = by_hand("first-slots", |_| ());
    let mut client = Client::connect(&name).expect("a connection");
    for call in 0..300_u32 {
        client.submit(b"alone").expect("room");
        let rpc = next_rpc(&worker);
        let arrival = rpc.arrival();
        // The number of an RPC is its position in the ring.
        assert_eq!((arrival.rpc.tid.0 % RING_SLOTS, arrival.slots.start.0), (0, 0), "call {call}");
        finish((rpc, b"alone".to_vec()));
        assert!(wait_until("an answer", || next_end(&mut client)).1.is_ok());
    }
    server.stop();
}

const RING_SLOTS: u32 = 256;

#[test]
fn a_caller_with_its_own_loop_takes_a_client_in_with_turns_that_find_nothing() {
    let _watchdog = Watchdog::new("a caller with its own loop");
    let (name, server, mut worker) = by_hand("own-loop", |_| ());
    let mut client = Client::connect(&name).expect("a connection");
    client.submit(b"first").expect("room");
    // The listener's thread hands over the client, and then one turn takes it in.
    wait_until("the client to be served", || (worker.turn(&echo) > 0).then_some(()));
    drop(client);
    server.stop();
}

/// Panics without a message at "panic"; answers everything else.
fn fragile(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(b"partly written");
    if request == b"panic" {
        std::panic::resume_unwind(Box::new("asked for"));
    }
    reply.clear();
    reply.write(request);
}

#[test]
fn a_handler_that_panics_is_a_fault_and_the_server_goes_on() {
    let _watchdog = Watchdog::new("a handler that panics");
    for inline in [true, false] {
        let name = endpoint(&format!("panic-{inline}"));
        let server = Server::bind(&name).inline(inline).serve(fragile).expect("a server");
        let mut client = Client::connect(&name).expect("a connection");
        for _ in 0..100 {
            assert_eq!(client.call(b"panic"), Err(CallError::Fault(Fault::HandlerPanicked)));
            assert_eq!(client.call(b"calm").expect("an echo"), b"calm");
        }
        drop(client);
        assert_eq!(wait_until_clean(server.status(), 0).freed, 200);
        server.stop();
    }
}

/// Answers, but panics at some requests, takes no more after "stop", and its prefetch panics at
/// "trap".
struct Moody;

impl Service for Moody {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        fragile(request, reply);
    }

    fn serve_burst(&self, requests: &mut Requests<'_>) {
        (0..requests.len()).for_each(|ahead| self.prefetch(requests.peek(ahead), Stage::Arrived));
        while requests.is_empty() || requests.peek(0) != b"stop" {
            let Some((request, reply)) = requests.next() else { return };
            self.serve(request, reply);
        }
    }

    fn prefetch(&self, request: &[u8], _: Stage) {
        if request == b"trap" {
            std::panic::resume_unwind(Box::new("asked for"));
        }
    }
}

/// The ends of `requests`, which the worker gets as one burst.
fn ends_of_a_burst(test: &str, service: &impl Service, requests: &[&[u8]]) -> Vec<Result<Vec<u8>, CallError>> {
    let (name, server, mut worker) = by_hand(test, |config| config.description = Some(service.describe()));
    let mut client = Client::connect(&name).expect("a connection");
    for request in requests {
        client.submit(request).expect("room");
    }
    let mut ends = Vec::new();
    wait_until("the end of each", || {
        worker.turn(service);
        ends.extend(std::iter::from_fn(|| next_end(&mut client)).map(|(_, result)| result));
        (ends.len() == requests.len()).then_some(())
    });
    // Each ends once.
    assert_eq!((worker.turn(service), client.outstanding()), (0, 0));
    wait_until("the last status", || {
        worker.turn(service);
        let status = server.status().read();
        (status.freed == requests.len() as u64 && status.slots_used == 0).then_some(())
    });
    server.stop();
    ends
}

/// Notes for each request which prefetch stages ran before it was served.
#[derive(Default)]
struct Prefetched(Mutex<Vec<(u8, Option<Stage>)>>);

impl Service for Prefetched {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.0.lock().expect("no panic").push((request[0], None));
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().prefetches(true)
    }

    fn prefetch(&self, request: &[u8], stage: Stage) {
        self.0.lock().expect("no panic").push((request[0], Some(stage)));
    }
}

#[test]
fn each_request_of_a_burst_is_prefetched_in_both_stages_before_it_is_served() {
    let _watchdog = Watchdog::new("prefetches ahead");
    let service = Prefetched::default();
    let requests: Vec<[u8; 1]> = (0..40).map(|request| [request]).collect();
    let requests: Vec<&[u8]> = requests.iter().map(<[u8; 1]>::as_slice).collect();
    assert_eq!(ends_of_a_burst("prefetched", &service, &requests).len(), 40);
    let noted = service.0.into_inner().expect("no panic");
    for request in 0..40 {
        let of_it: Vec<_> = noted.iter().filter(|(of, _)| *of == request).map(|(_, stage)| *stage).collect();
        assert_eq!(of_it, [Some(Stage::Arrived), Some(Stage::Next), None], "request {request}");
    }
    let at = |entry| noted.iter().position(|noted| *noted == entry).expect("noted");
    assert!(at((12, Some(Stage::Arrived))) < at((0, None)), "misses of several requests overlap");
    assert!(at((31, Some(Stage::Arrived))) > at((0, None)), "and overlap with the service of others");
}

#[test]
fn a_burst_ends_each_rpc_once_whatever_its_service_does() {
    let _watchdog = Watchdog::new("a service of bursts");
    let reply = |bytes: &[u8]| Ok(bytes.to_vec());
    let fault = |fault| Err(CallError::Fault(fault));
    let panicked = || fault(Fault::HandlerPanicked);
    let requests: [&[u8]; 5] = [b"a", b"panic", b"b", b"panic", b"c"];
    let expected = [reply(b"a"), panicked(), reply(b"b"), panicked(), reply(b"c")];
    assert_eq!(ends_of_a_burst("burst-panics", &Moody, &requests), expected);
    assert_eq!(ends_of_a_burst("burst-default", &fragile, &requests), expected);
    // The RPCs before the stop are answered; those that were not taken end with a fault.
    let ends = ends_of_a_burst("burst-stops", &Moody, &[b"a", b"stop", b"b"]);
    assert_eq!(ends, [reply(b"a"), fault(Fault::Unanswered), fault(Fault::Unanswered)]);
    // A panic before any RPC is taken costs the next one its answer, until the trap is gone.
    let ends = ends_of_a_burst("burst-trap", &Moody, &[b"a", b"trap", b"b"]);
    assert_eq!(ends, [panicked(), panicked(), reply(b"b")]);
}

#[derive(Default)]
struct Hinted([AtomicU64; 2]);

impl Service for Hinted {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().prefetches(true)
    }

    fn prefetch(&self, request: &[u8], stage: Stage) {
        assert_eq!(request, b"hint");
        self.0[usize::from(stage == Stage::Next)].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_inline_worker_prefetches_for_each_rpc_of_a_burst_at_both_stages() {
    let _watchdog = Watchdog::new("prefetches");
    for (which, (policy, steering, each)) in [
        ("jbsq:2", Steering::On, 1),
        ("preemptive:1ms", Steering::On, 1),
        ("key-hash", Steering::On, 1),
        ("jbsq:2", Steering::Off, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let service = Hinted::default();
        let (name, server, mut worker) = by_hand(&format!("hints-{which}"), |config| {
            (config.policy, config.steering) = (policy.parse().expect("a policy"), steering);
            config.description = Some(service.describe());
        });
        let mut client = Client::connect(&name).expect("a connection");
        for _ in 0..12 {
            client.submit(b"hint").expect("room");
        }
        wait_until("the answers", || {
            worker.turn(&service);
            while client.poll().is_some() {}
            (client.outstanding() == 0).then_some(())
        });
        let hints = service.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert_eq!(hints, [12 * each; 2], "{policy}");
        server.stop();
    }
}

#[test]
fn an_rpc_dropped_without_an_answer_is_a_fault() {
    let _watchdog = Watchdog::new("an RPC dropped");
    let (name, server, worker) = by_hand("dropped", |_| ());
    let mut client = Client::connect(&name).expect("a connection");
    let tickets = [b"a", b"b"].map(|request| client.submit(request).expect("room"));
    drop(next_rpc(&worker));
    let mut second = next_rpc(&worker);
    second.rpc_send(b"first answer");
    second.rpc_send(b"second answer");
    drop(second);
    let ends = [(); 2].map(|()| wait_until("an end", || next_end(&mut client)));
    let unanswered = Err(CallError::Fault(Fault::Unanswered));
    assert_eq!(ends, [(tickets[0], unanswered), (tickets[1], Ok(b"first answer".to_vec()))]);
    server.stop();
}

#[test]
fn a_slow_rpc_holds_up_none_that_another_worker_can_serve() {
    let _watchdog = Watchdog::new("a slow RPC");
    let gate = Arc::new(Barrier::new(2));
    let name = endpoint("slow");
    let served = Server::bind(&name).policy(Policy::SingleQueue).workers(2);
    let server = served.serve(boxed({
        let gate = gate.clone();
        move |request: &[u8], reply: &mut Reply| {
            if request == b"slow" {
                gate.wait();
            }
            reply.write(request);
        }
    }));
    let server = server.expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    let slow = client.submit(b"slow").expect("room");
    for number in 0..40_u32 {
        let quick = client.submit(&number.to_le_bytes()).expect("room behind the slow one");
        assert_eq!(wait_until("a quick one", || next_end(&mut client)), (quick, Ok(number.to_le_bytes().to_vec())));
    }
    gate.wait();
    assert_eq!(wait_until("the slow one", || next_end(&mut client)), (slow, Ok(b"slow".to_vec())));
    assert_eq!(client.outstanding(), 0);
    server.stop();
}

/// Serves `rpcs` RPCs, up to seven at once, and frees them in random order while `_held` stays
/// held.
fn hold_and_free_by_draw(worker: &Worker, rpcs: usize, _held: &Rpc<'_>) {
    let mut draw = Draw::new(5);
    let mut held: Vec<(Rpc<'_>, Vec<u8>)> = Vec::new();
    let mut freed = 0;
    while freed < rpcs {
        if let Some(rpc) = worker.try_wait_for_rpc() {
            let seen = rpc.payload().to_vec();
            held.push((rpc, seen));
        }
        if held.len() == 7 || (!held.is_empty() && draw.once_in(3)) {
            let at = draw.below(held.len());
            finish(held.swap_remove(at));
            freed += 1;
        }
    }
}

/// Answers with the request as first seen; it must not have changed.
fn finish((mut rpc, seen): (Rpc<'_>, Vec<u8>)) {
    assert_eq!(rpc.payload(), seen, "a payload changed while its RPC was held");
    rpc.rpc_send(&seen);
}

#[test]
fn rpcs_held_at_once_and_freed_out_of_order_keep_their_payloads() {
    let _watchdog = Watchdog::new("RPCs held at once");
    // The buffer holds sixteen of the longest RPC, so that the held ones are often in the way. Each
    // RPC has one packet, since the server abandons a longer one when its client pauses inside it.
    let (name, server, worker) = by_hand("held", |config| {
        (config.policy, config.rpc_bytes_max, config.mtu_bytes) = (Policy::Jbsq(8), 1024, 1024);
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 16 * 1024 };
    });
    let mut slow = Client::connect_with(&name, ClientConfig::default().reply_bytes_max(1024)).expect("a connection");
    let request = Draw::new(4).bytes(1000);
    slow.submit(&request).expect("room");
    let longest_held = next_rpc(&worker);
    let rpcs = 8_000;
    let client = std::thread::spawn(move || {
        let config = ClientConfig::default().slots(64).reply_bytes_max(1024);
        let mut client = Client::connect_with(&name, config).expect("a connection");
        let mut draw = Draw::new(6);
        exchange(&mut client, rpcs, 8, |_| {
            let bytes = draw.below(1025);
            draw.bytes(bytes)
        })
    });
    hold_and_free_by_draw(&worker, rpcs, &longest_held);
    wait_until("the client's end", || {
        assert!(worker.try_wait_for_rpc().is_none(), "an RPC too many");
        client.is_finished().then_some(())
    });
    let ends = client.join().expect("no wrong answer");
    assert_eq!((ends.replied, ends.nacked), (rpcs, 0), "there was room behind the slow one");
    finish((longest_held, request.clone()));
    assert_eq!(wait_until("the slow one", || next_end(&mut slow)).1, Ok(request));
    server.stop();
}

#[derive(Debug, Default)]
struct Ends {
    replied: usize,
    nacked: usize,
    timed_out: usize,
}

/// Sends `rpcs` RPCs, at most `depth` at once, and checks that each ticket ends once and that a
/// reply is an echo.
fn exchange(client: &mut Client, rpcs: usize, depth: usize, request: impl FnMut(usize) -> Vec<u8>) -> Ends {
    let mut ends = Ends::default();
    exchange::exchange(client, rpcs, depth, request, |request, end| match end {
        Ok(reply) => {
            assert!(reply == request, "another's reply");
            ends.replied += 1;
        }
        Err(CallError::Nack { .. }) => ends.nacked += 1,
        Err(CallError::TimedOut) => ends.timed_out += 1,
        Err(error) => panic!("{error}"),
    });
    ends
}

/// Has the engine of `worker` read the rings while the worker serves only `_held`.
fn look(worker: &Worker, _held: &Rpc<'_>) {
    assert!(worker.try_wait_for_rpc().is_none(), "one RPC at a time");
}

/// Has the core serve one RPC and two more wait.
fn fill<'w>(crowd: &mut Client, worker: &'w Worker) -> Rpc<'w> {
    crowd.submit(&[0]).expect("room");
    let serving = next_rpc(worker);
    for number in [1, 2] {
        crowd.submit(&[number]).expect("room");
    }
    look(worker, &serving);
    serving
}

#[test]
fn an_rpc_that_would_wait_too_long_is_refused_at_once_and_others_keep_their_place() {
    let _watchdog = Watchdog::new("refused at once");
    let (name, server, worker) = by_hand("refused", two_may_wait);
    let mut client = Client::connect(&name).expect("a connection");
    let serving = fill(&mut client, &worker);
    let tickets: Vec<_> = (3..6_u8).map(|number| client.submit(&[number]).expect("room")).collect();
    look(&worker, &serving);
    // One is served, two wait and three are refused, before any of the others ends.
    let refused: Vec<_> = (0..3).map(|_| wait_until("a NACK", || next_end(&mut client))).collect();
    let nack = CallError::Nack { reason: NackReason::QueueBound };
    assert!(refused.iter().all(|(_, result)| *result == Err(nack.clone())), "{refused:?}");
    assert!(refused.iter().map(|(ticket, _)| *ticket).eq(tickets), "{refused:?}");
    finish((serving, vec![0]));
    for _ in 0..2 {
        let rpc = next_rpc(&worker);
        let seen = rpc.payload().to_vec();
        finish((rpc, seen));
    }
    for number in 0..3 {
        assert_eq!(wait_until("a reply", || next_end(&mut client)).1, Ok(vec![number]));
    }
    assert_eq!((next_end(&mut client), client.outstanding()), (None, 0));
    server.stop();
}

#[test]
fn a_back_off_gets_through_once_there_is_room() {
    let _watchdog = Watchdog::new("a back-off gets through");
    let (name, server, worker) = by_hand("back-off", two_may_wait);
    let mut crowd = Client::connect(&name).expect("a connection");
    let serving = fill(&mut crowd, &worker);
    let retry = RetryPolicy::BackOff { first: Span::from_us(200), factor: 1, attempts: u32::MAX, seed: 1 };
    let mut patient = Client::connect_with(&name, ClientConfig::default().retry(retry)).expect("a connection");
    let ticket = patient.submit(b"patience").expect("room");
    let refusals = || server.status().read().nacked_queue_bound;
    // The counter page is written from time to time; the NACKs do not wait for it.
    wait_until("three refusals", || {
        assert_eq!(next_end(&mut patient), None, "there is no room yet");
        look(&worker, &serving);
        (refusals() >= 3).then_some(())
    });
    finish((serving, vec![0]));
    let end = wait_until("its turn", || {
        if let Some(rpc) = worker.try_wait_for_rpc() {
            let seen = rpc.payload().to_vec();
            finish((rpc, seen));
        }
        next_end(&mut patient)
    });
    assert_eq!(end, (ticket, Ok(b"patience".to_vec())));
    server.stop();
}

#[test]
fn a_deadline_ends_an_rpc_once_and_its_late_answer_ends_none() {
    let _watchdog = Watchdog::new("a deadline");
    let (name, server, worker) = by_hand("deadline", |_| ());
    let config = ClientConfig::default().slots(4).deadline(Span::from_ms(2));
    let mut client = Client::connect_with(&name, config).expect("a connection");
    for round in 0..20_u8 {
        let ticket = wait_until("room", || client.submit(&[round]).ok());
        let rpc = next_rpc(&worker);
        assert_eq!(wait_until("the deadline", || next_end(&mut client)), (ticket, Err(CallError::TimedOut)));
        assert_eq!(client.outstanding(), 0);
        finish((rpc, vec![round]));
        assert_eq!(next_end(&mut client), None, "it was over");
    }
    drop(client);
    wait_until("all of it gone", || {
        assert!(worker.try_wait_for_rpc().is_none());
        (server.status().read().slots_used == 0).then_some(())
    });
    server.stop();
}

#[test]
fn a_server_under_load_stops_and_every_rpc_ends() {
    let _watchdog = Watchdog::new("a server under load stops");
    for inline in [true, false] {
        let name = endpoint(&format!("stop-{inline}"));
        // The service is so slow, and the queue so long, that there is always work left.
        let config = server_config(|config| {
            (config.inline, config.queueing) = (Some(inline), Queueing::Unbounded { recv_buffer_bytes: 1 << 20 });
        });
        let server = Server::bind(&name).config(config).serve(boxed(|request: &[u8], reply: &mut Reply| {
            spin(Duration::from_micros(50));
            reply.write(request);
        }));
        let server = server.expect("a server");
        let is_warm = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..2).map(|_| scope.spawn(|| hammer_until_gone(&name, &is_warm))).collect();
            wait_until("load", || is_warm.load(Ordering::Acquire).then_some(()));
            server.stop();
            for client in clients {
                client.join().expect("every RPC ended");
            }
        });
    }
}

/// Keeps 64 RPCs outstanding until the server is gone, and checks that each ends.
fn hammer_until_gone(name: &str, is_warm: &AtomicBool) {
    let mut client = Client::connect(name).expect("a connection");
    let (mut sent, mut ended) = (0_u64, 0_u64);
    loop {
        match client.submit(&sent.to_le_bytes()) {
            Ok(_) => sent += 1,
            Err(SubmitError::Full) => {}
            Err(error) => {
                assert_eq!(error, SubmitError::ServerGone);
                break;
            }
        }
        while client.outstanding() >= 64
            && let Some((_, result)) = next_end(&mut client)
        {
            assert!(matches!(result, Ok(_) | Err(CallError::Nack { .. } | CallError::ServerGone)), "{result:?}");
            ended += 1;
        }
        is_warm.fetch_or(ended > 500, Ordering::Release);
    }
    while ended < sent {
        let (_, result) = wait_until("the last ends", || next_end(&mut client));
        assert!(matches!(result, Ok(_) | Err(CallError::Nack { .. } | CallError::ServerGone)), "{result:?}");
        ended += 1;
    }
    assert_eq!((client.outstanding(), next_end(&mut client)), (0, None));
}

#[test]
fn a_call_gives_up_in_time_and_the_next_one_gets_its_own_answer() {
    let _watchdog = Watchdog::new("a call gives up");
    let (name, server, worker) = by_hand("timeout", |_| ());
    let config = ClientConfig::default().slots(4).call_timeout(Duration::from_millis(20));
    let mut client = Client::connect_with(&name, config).expect("a connection");
    // The engine does not run: three RPCs stay in the ring, and then the ring is full.
    for request in [b"one", b"two", b"thr", b"for", b"fiv"] {
        assert_eq!(client.call(request), Err(CallError::TimedOut));
    }
    let serving = std::thread::spawn(move || {
        while let Some(mut rpc) = worker.wait_for_rpc() {
            let seen = rpc.payload().to_vec();
            rpc.rpc_send(&seen);
        }
    });
    let reply = wait_until("an answer", || client.call(b"six").ok().map(<[u8]>::to_vec));
    assert_eq!(reply, b"six", "not a late answer to another");
    server.stop();
    serving.join().expect("the worker ends with its server");
}

#[test]
fn a_ring_that_fills_for_the_first_time_keeps_every_outstanding_rpc() {
    const ANSWERED_FIRST: u32 = 5;
    let _watchdog = Watchdog::new("a ring that fills");
    let (name, server, worker) = by_hand("fills", |config| config.slo = Span::from_secs(60));
    let mut client = Client::connect_with(&name, ClientConfig::default().slots(RING_SLOTS)).expect("a connection");
    let submit = |client: &mut Client, number: u32| client.submit(&number.to_le_bytes());
    let mut sent: HashMap<_, _> = (0..60).map(|number| (submit(&mut client, number).expect("room"), number)).collect();
    let answer = |client: &mut Client, sent: &mut HashMap<_, u32>| {
        let rpc = next_rpc(&worker);
        let reply = rpc.payload().to_vec();
        finish((rpc, reply));
        let (ticket, end) = wait_until("an answer", || next_end(client));
        let number = sent.remove(&ticket).expect("a ticket ends once");
        assert_eq!(end, Ok(number.to_le_bytes().to_vec()));
    };
    // The oldest RPC is then not in the first slot.
    (0..ANSWERED_FIRST).for_each(|_| answer(&mut client, &mut sent));
    for number in 60..RING_SLOTS + ANSWERED_FIRST {
        sent.insert(submit(&mut client, number).expect("room"), number);
    }
    assert_eq!(client.submit(b"one more"), Err(SubmitError::Full));
    while !sent.is_empty() {
        answer(&mut client, &mut sent);
    }
    server.stop();
}
