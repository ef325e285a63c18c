//! A client of several servers: a refused RPC goes to another server, no RPC runs twice, and the
//! client notices a server that is gone and comes back.

use nebula::{
    AsyncClient, Balance, CallError, Client, ClientConfig, Completion, ConnectError, Executed, HealthCheck,
    HedgeConfig, Options, Policy, Queueing, Reply, RunningServer, Server, ServerConfig, Span, SubmitError,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::boxed::boxed;
use crate::support::{PATIENCE, endpoint, wait_until_clean};
use nebula_testing::wait::{Limit, Watchdog, throughout, wait_until};

fn balanced(balance: Balance) -> ClientConfig {
    ClientConfig::default().balance(balance)
}

fn counting(name: &str) -> (RunningServer, Arc<AtomicU32>) {
    let executed = Arc::new(AtomicU32::new(0));
    let count = executed.clone();
    // The queue is long enough for any machine.
    let config = ServerConfig::default().inline(false).queueing(Queueing::Unbounded { recv_buffer_bytes: 1 << 20 });
    let server = Server::bind(name).config(config).serve(boxed(move |request: &[u8], reply: &mut Reply<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        reply.write(request);
    }));
    (server.expect("a server"), executed)
}

#[test]
fn a_refused_call_goes_to_another_server() {
    let _watchdog = Watchdog::new("a refused call");
    let (busy_name, idle_name) = (endpoint("balanced-busy"), endpoint("balanced-idle"));
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let (begin, begun) = channel();
    // One RPC is served until it is released and two may wait; all others are refused at once.
    let config = ServerConfig::default()
        .inline(false)
        .slo(Span::from_us(1))
        .service_mean(Span::from_us(1))
        .clients_waiting_max(0)
        .policy(Policy::Jbsq(1));
    let busy = Server::bind(&busy_name).config(config).serve(boxed(move |_: &[u8], reply: &mut Reply<'_>| {
        let _ = begin.send(());
        let _ = released.lock().expect("the lock").recv();
        reply.write(b"late");
    }));
    let busy = busy.expect("a server");
    // Should an assertion fail, this is dropped before the server, which waits for its handler.
    let release = release;
    let mut crowd = Client::connect(&busy_name).expect("a client");
    // While the first RPC is in its handler, no RPC leaves the queue; two more fit in it.
    crowd.submit(b"fill").expect("a free slot");
    begun.recv().expect("it runs");
    for _ in 0..16 {
        crowd.submit(b"fill").expect("a free slot");
    }
    let mut refused = 0;
    wait_until("a full queue", || {
        refused += u32::from(crowd.poll().is_some_and(|done| done.result.is_err()));
        (refused >= 14).then_some(())
    });
    let (idle, executed) = counting(&idle_name);
    for balance in [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo] {
        let before = executed.load(Ordering::Relaxed);
        let endpoints = format!("{busy_name},{idle_name}");
        let mut client = Client::connect_with(&endpoints, ClientConfig::default().balance(balance)).expect("a client");
        for key in 0..20 {
            let options = Options::default().key_hash(key);
            assert_eq!(client.call_with(b"elsewhere", options), Ok(&b"elsewhere"[..]), "{balance}, key {key}");
        }
        assert_eq!(executed.load(Ordering::Relaxed) - before, 20, "{balance}: each once, at the idle server");
    }
    // With balancing by key, another server may not hold the key.
    let config = ClientConfig::default().balance(Balance::KeyHash);
    let mut client = Client::connect_with(&format!("{busy_name},{idle_name}"), config).expect("a client");
    let refused = (0..200).filter(|&key| {
        let ended = client.call_with(b"by its key", Options::default().key_hash(key));
        matches!(ended, Err(CallError::Nack { .. }))
    });
    let refused = refused.count();
    assert!((60..=140).contains(&refused), "{refused} of 200 keys are the busy server's");
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
    let mut client = Client::connect_with(&endpoints, balanced(Balance::RoundRobin)).expect("a client");
    for _ in 0..20 {
        assert_eq!(client.call(b"both"), Ok(&b"both"[..]));
    }
    assert_eq!((one_executed.load(Ordering::Relaxed), other_executed.load(Ordering::Relaxed)), (10, 10));
    one.stop();
    // Without `idempotent`, a call learns of the end, at most once: after that the client avoids
    // the server.
    let ends: Vec<_> = (0..20).map(|_| client.call(b"one left").map(<[u8]>::to_vec)).collect();
    let unknown = ends.iter().filter_map(|end| end.as_ref().err()).inspect(|error| {
        assert_eq!(error.was_executed(), Executed::Unknown, "{error}");
    });
    let unknown = unknown.count();
    assert!(unknown <= 1, "{ends:?}");
    assert_eq!(other_executed.load(Ordering::Relaxed) as usize, 10 + 20 - unknown, "each at most once");
    for _ in 0..20 {
        assert_eq!(client.call_with(b"harmless", Options::default().idempotent(true)), Ok(&b"harmless"[..]));
    }
    let (one, again) = counting(&one_name);
    let limit = Limit::new("the server that came back to get something");
    while again.load(Ordering::Relaxed) == 0 {
        limit.check();
        assert!(client.call_with(b"again", Options::default().idempotent(true)).is_ok());
    }
    one.stop();
    other.stop();
    // Now no server is left.
    let ends: Vec<_> = (0..4).map(|_| client.call(b"nobody").map(<[u8]>::to_vec)).collect();
    assert!(ends.iter().all(Result::is_err), "{ends:?}");
    assert_eq!(ends.last(), Some(&Err(CallError::NotSent(SubmitError::ServerGone))), "both are left alone");
}

#[test]
fn submitted_rpcs_end_once_each_wherever_they_went() {
    let _watchdog = Watchdog::new("submitted to several");
    let names = [endpoint("balanced-a"), endpoint("balanced-b"), endpoint("balanced-c")];
    let servers: Vec<_> = names.iter().map(|name| counting(name)).collect();
    let mut client = Client::connect_with(&names.join(","), balanced(Balance::PowerOfTwo)).expect("a client");
    let (mut outstanding, mut ended) = (BTreeSet::new(), 0);
    let mut submitted = 0_u32;
    while ended < 3000 {
        if submitted < 3000
            && let Ok(ticket) = client.submit(&submitted.to_le_bytes())
        {
            assert!(outstanding.insert(ticket), "{ticket:?} is outstanding already");
            submitted += 1;
        }
        assert_eq!(client.outstanding() as usize, outstanding.len());
        while let Some(Completion { ticket, result }) = client.poll() {
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
    let error = Client::connect_with(&nowhere, balanced(Balance::RoundRobin)).expect_err("nobody is there");
    assert!(matches!(error, ConnectError::NobodyServes { .. }), "{error}");
    let error = Client::connect_with("shm://a,http://b", balanced(Balance::RoundRobin)).expect_err("no endpoint");
    assert!(matches!(error, ConnectError::Endpoint(_)), "{error}");
    let many = (0..65).map(|n| format!("shm://a{n}")).collect::<Vec<_>>().join(",");
    let error = Client::connect_with(&many, balanced(Balance::RoundRobin)).expect_err("too many");
    assert!(matches!(error, ConnectError::TooManyServers { given: 65, max: 64 }), "{error}");
    let (server, executed) = counting(&here);
    let mut client =
        Client::connect_with(&format!("{nowhere},{here}"), balanced(Balance::Random)).expect("one is enough");
    for _ in 0..10 {
        assert_eq!(client.call(b"here"), Ok(&b"here"[..]));
    }
    assert_eq!(executed.load(Ordering::Relaxed), 10);
    server.stop();
}

/// A server whose handler waits while `stalls` is set.
fn stalling(name: &str) -> (RunningServer, Arc<AtomicU32>, Arc<AtomicBool>) {
    let (executed, stalls) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, waits) = (executed.clone(), stalls.clone());
    let server = Server::bind(name).inline(false).serve(boxed(move |request: &[u8], reply: &mut Reply<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        while waits.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        reply.write(request);
    }));
    (server.expect("a server"), executed, stalls)
}

#[test]
fn a_second_server_is_asked_where_the_first_takes_long_and_that_does_no_harm() {
    let _watchdog = Watchdog::new("hedges");
    let (slow_name, fast_name) = (endpoint("balanced-slow"), endpoint("balanced-fast"));
    let (slow, slow_executed, stalls) = stalling(&slow_name);
    let (fast, fast_executed) = counting(&fast_name);
    let hedge = HedgeConfig { quantile: 0.9, budget: 1.0 };
    let config = balanced(Balance::RoundRobin).hedge(hedge);
    let mut client = Client::connect_with(&format!("{slow_name},{fast_name}"), config).expect("a client");
    let harmless = Options::default().idempotent(true);
    for _ in 0..200 {
        assert_eq!(client.call_with(b"learn", harmless), Ok(&b"learn"[..]));
    }
    // Cancelled copies may still run.
    wait_until_clean(slow.status(), 1);
    wait_until_clean(fast.status(), 1);
    stalls.store(true, Ordering::Relaxed);
    let before = (slow_executed.load(Ordering::Relaxed), fast_executed.load(Ordering::Relaxed));
    // The slow server runs one RPC and queues the others; the fast one answers each of them.
    for _ in 0..20 {
        assert_eq!(client.call_with(b"hedged", harmless), Ok(&b"hedged"[..]));
    }
    assert_eq!(fast_executed.load(Ordering::Relaxed) - before.1, 20, "all, its share and those of the slow one");
    assert!(slow_executed.load(Ordering::Relaxed) - before.0 <= 1, "it is at its first one still");
    stalls.store(false, Ordering::Relaxed);
    // An RPC that may do harm stays at one server, however long that takes.
    let executed = || slow_executed.load(Ordering::Relaxed) + fast_executed.load(Ordering::Relaxed);
    // Cancelled RPCs may still run.
    wait_until_clean(slow.status(), 1);
    wait_until_clean(fast.status(), 1);
    let before = executed();
    for _ in 0..100 {
        assert_eq!(client.call(b"once"), Ok(&b"once"[..]));
    }
    assert_eq!(executed() - before, 100);
    slow.stop();
    fast.stop();
}

#[test]
fn a_server_that_says_it_is_not_well_gets_nothing_until_it_is() {
    let _watchdog = Watchdog::new("health checks");
    let names = [endpoint("balanced-ill"), endpoint("balanced-well")];
    let serve = |name: &str| {
        let (executed, is_ill) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, ill) = (executed.clone(), is_ill.clone());
        let server = Server::bind(name).inline(false).serve(boxed(move |request: &[u8], reply: &mut Reply<'_>| {
            if request == b"well?" {
                return reply.write(if ill.load(Ordering::Relaxed) { b"no" } else { b"yes" });
            }
            count.fetch_add(1, Ordering::Relaxed);
            reply.write(request);
        }));
        (server.expect("a server"), executed, is_ill)
    };
    let (one, one_executed, is_ill) = serve(&names[0]);
    let (other, ..) = serve(&names[1]);
    let health = HealthCheck::new(Span::from_ms(20), b"well?", |reply| reply == b"yes");
    let config = balanced(Balance::RoundRobin).health(health);
    let mut client = Client::connect_with(&names.join(","), config).expect("a client");
    // One call, and whether the first server executed it. `None` if neither server answered the
    // last check in time, as on a busy machine.
    let mut call = || {
        let before = one_executed.load(Ordering::Relaxed);
        match client.call(b"work").map(drop) {
            Ok(()) => Some(one_executed.load(Ordering::Relaxed) > before),
            Err(CallError::NotSent(SubmitError::ServerGone)) => None,
            Err(error) => panic!("{error}"),
        }
    };
    let until_it_gets_one = |call: &mut dyn FnMut() -> Option<bool>| {
        let limit = Limit::new("the first server to get a call");
        while call() != Some(true) {
            limit.check();
        }
    };
    until_it_gets_one(&mut call);
    is_ill.store(true, Ordering::Relaxed);
    let (limit, mut in_a_row) = (Limit::new("the first server to be left alone"), 0);
    while in_a_row < 50 {
        limit.check();
        in_a_row = match call() {
            Some(true) => 0,
            Some(false) => in_a_row + 1,
            None => in_a_row,
        };
    }
    is_ill.store(false, Ordering::Relaxed);
    until_it_gets_one(&mut call);
    one.stop();
    other.stop();
}

#[test]
fn a_caller_that_never_polls_learns_that_a_server_is_well_again() {
    let _watchdog = Watchdog::new("health checks of a caller");
    let names = [endpoint("balanced-both-ill"), endpoint("balanced-both-ill-2")];
    let is_ill = Arc::new(AtomicBool::new(false));
    let serve = |name: &str| {
        let ill = is_ill.clone();
        Server::bind(name).inline(false).serve(boxed(move |request: &[u8], reply: &mut Reply<'_>| match request {
            b"well?" if ill.load(Ordering::Relaxed) => reply.write(b"no"),
            b"well?" => reply.write(b"yes"),
            _ => reply.write(request),
        }))
    };
    let servers = names.each_ref().map(|name| serve(name).expect("a server"));
    let health = HealthCheck::new(Span::from_ms(5), b"well?", |reply| reply == b"yes");
    let config = balanced(Balance::RoundRobin).health(health);
    let mut client = Client::connect_with(&names.join(","), config).expect("a client");
    for (ill, is_answered) in [(false, true), (true, false), (false, true)] {
        is_ill.store(ill, Ordering::Relaxed);
        let limit = Limit::new("a call to end as the servers say they are");
        while client.call(b"work").is_ok() != is_answered {
            limit.check();
        }
    }
    servers.into_iter().for_each(|server| _ = server.stop());
}

#[test]
fn servers_join_and_leave_as_a_file_says() {
    let _watchdog = Watchdog::new("a file of servers");
    let names = [endpoint("balanced-first"), endpoint("balanced-later")];
    let servers = names.each_ref().map(|name| counting(name));
    let file = std::env::temp_dir().join(format!("nebula-servers-{}", std::process::id()));
    std::fs::write(&file, &names[0]).expect("a file");
    let mut client = Client::connect_with(&format!("file://{}", file.display()), balanced(Balance::RoundRobin));
    let client = client.as_mut().expect("a client");
    let mut served_by = |which: usize| {
        let (limit, mut in_a_row) = (Limit::new("one server to get all calls"), 0);
        while in_a_row < 20 {
            limit.check();
            let before = servers[which].1.load(Ordering::Relaxed);
            assert_eq!(client.call(b"call"), Ok(&b"call"[..]));
            let got = servers[which].1.load(Ordering::Relaxed) > before;
            in_a_row = if got { in_a_row + 1 } else { 0 };
        }
    };
    served_by(0);
    std::fs::write(&file, format!("# moved\n{}\n", names[1])).expect("a file");
    served_by(1);
    // A file without a valid server changes nothing, for longer than the interval between two
    // reads.
    std::fs::write(&file, "http://nowhere").expect("a file");
    throughout(Duration::from_millis(1500), || served_by(1));
    std::fs::remove_file(&file).expect("it is there");
    for (server, _) in servers {
        server.stop();
    }
}

#[test]
fn tasks_call_several_servers_too() {
    let _watchdog = Watchdog::new("tasks and several servers");
    let names = [endpoint("balanced-task-a"), endpoint("balanced-task-b")];
    let [(one, one_executed), (other, other_executed)] = names.each_ref().map(|name| counting(name));
    let client = AsyncClient::connect_with(&names.join(","), balanced(Balance::RoundRobin)).wait().expect("a client");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let harmless = Options::default().idempotent(true);
    let call = |calls: u32, polls: bool| {
        let client = if polls { client.clone() } else { client.clone().poll_for(Span::ZERO) };
        runtime.block_on(async move {
            let tasks: Vec<_> = (0..calls)
                .map(|call| {
                    let client = client.clone();
                    tokio::spawn(async move { client.call_with(call.to_le_bytes(), harmless).await })
                })
                .collect();
            for (call, task) in (0..calls).zip(tasks) {
                assert_eq!(task.await.expect("no panic"), Ok(call.to_le_bytes().to_vec()));
            }
        });
    };
    for round in 0..40 {
        call(20, round % 2 == 0);
    }
    assert_eq!(one_executed.load(Ordering::Relaxed) + other_executed.load(Ordering::Relaxed), 800);
    assert!(one_executed.load(Ordering::Relaxed) > 100 && other_executed.load(Ordering::Relaxed) > 100);
    one.stop();
    (0..10).for_each(|_| call(20, false));
    let (one, again) = counting(&names[0]);
    let limit = Limit::new("the server that came back to get something");
    while again.load(Ordering::Relaxed) == 0 {
        limit.check();
        call(20, false);
    }
    one.stop();
    other.stop();
}

#[test]
fn servers_that_are_late_together_are_not_left_alone_and_none_of_their_rpcs_ends_early() {
    let _watchdog = Watchdog::new("servers that are late together");
    let names = [endpoint("balanced-late-one"), endpoint("balanced-late-other")];
    let servers = [0, 1].map(|at| stalling(&names[at]));
    let config = balanced(Balance::PowerOfTwo).deadline(Duration::from_millis(2));
    let mut client = Client::connect_with(&names.join(","), config).expect("a client");
    let stall = |stalls: bool| servers.iter().for_each(|server| server.2.store(stalls, Ordering::Relaxed));
    for _ in 0..3 {
        stall(true);
        for _ in 0..20 {
            let error = client.call(b"late").map(<[u8]>::to_vec).expect_err("nobody answers");
            let is_refused = matches!(error, CallError::Nack { .. } | CallError::NotSent(SubmitError::Full));
            assert!(is_refused || matches!(error, CallError::TimedOut | CallError::Expired), "{error}");
        }
        stall(false);
        wait_until("an answer", || client.call(b"well again").is_ok().then_some(()));
    }
}

#[test]
fn an_rpc_with_a_deadline_waits_for_a_server_that_comes_back() {
    let _watchdog = Watchdog::new("an RPC without a server");
    let name = endpoint("balanced-back");
    let (server, _) = counting(&name);
    let nowhere = endpoint("balanced-never");
    let config = balanced(Balance::PowerOfTwo).deadline(PATIENCE);
    let mut client = Client::connect_with(&format!("{name},{nowhere}"), config).expect("a client");
    assert_eq!(client.call(b"before"), Ok(&b"before"[..]));
    server.stop();
    let harmless = Options::default().idempotent(true);
    let ticket = client.submit_with(b"after", harmless).expect("it waits");
    let began = (0..100).all(|_| client.poll().is_none());
    assert!(began, "it has ended without a server");
    let (_server, executed) = counting(&name);
    wait_until("the answer", || {
        let Completion { ticket: ended, result } = client.poll()?;
        assert_eq!((ended, result), (ticket, Ok(&b"after"[..])));
        Some(())
    });
    assert_eq!(executed.load(Ordering::Relaxed), 1);
}
