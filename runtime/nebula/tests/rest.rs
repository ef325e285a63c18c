//! Clients that sleep: in a call, in a wait, and in an event loop of the caller's.

use crate::support::boxed::boxed;
use crate::support::{PATIENCE, endpoint, everywhere, patient_client, unhurried_config};
use nebula::{CallError, Client, ClientConfig, Options, Reply, RunningServer, Server, Wait};
use nebula_testing::wait::{Watchdog, throughout, wait_until, wait_until_unchanged};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

fn sleeper() -> ClientConfig {
    patient_client().wait(Wait::Block)
}

/// A server that answers once the test allows it.
fn held(at: &str) -> (RunningServer, Arc<AtomicBool>) {
    let may_answer = Arc::new(AtomicBool::new(false));
    let goes_on = may_answer.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        wait_until("leave to answer", || goes_on.load(Ordering::Acquire).then_some(()));
        reply.write(request);
    };
    let config = unhurried_config(|config| config.inline = Some(true));
    (Server::bind(at).config(config).serve(boxed(service)).expect("a server"), may_answer)
}

/// Turns of an event loop until `ended` RPCs have ended; how often it slept, and the ends.
fn turns(client: &mut Client, ended: usize) -> (u32, Vec<Result<Vec<u8>, CallError>>) {
    let (mut slept, mut ends) = (0, Vec::new());
    while ends.len() < ended {
        let awaited = client.rest(|completion| ends.push(completion.result.map(<[u8]>::to_vec)));
        if let Some(awaited) = awaited {
            let within = awaited.within.map_or(PATIENCE, Duration::from);
            let within = Timespec::try_from(within).expect("a time");
            let came = poll(&mut [PollFd::new(&awaited.descriptor, PollFlags::IN)], Some(&within)).expect("a wait");
            assert!(came > 0 || awaited.within.is_some(), "a wake-up was lost");
            slept += 1;
        }
    }
    (slept, ends)
}

#[test]
fn an_event_loop_loses_no_answer_whether_it_comes_before_or_after_the_look() {
    let _watchdog = Watchdog::new("event loops");
    let [shm, udp, tcp] = everywhere("event-loop");
    let several = [0, 1].map(|at| format!("{}-{at}", endpoint("event-loop")));
    let mixed = vec![endpoint("event-loop-and"), udp.clone(), tcp.clone()];
    for at in [vec![shm], vec![udp], vec![tcp], several.to_vec(), mixed] {
        let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
        let serve = |at: &String| Server::bind(at).config(unhurried_config(|_| {})).serve(echo).expect("a server");
        let servers: Vec<_> = at.iter().map(serve).collect();
        let endpoints: Vec<_> = servers.iter().map(|server| server.endpoint().to_string()).collect();
        let mut client = Client::connect_with(&*endpoints.join(","), sleeper()).expect("a connection");
        for round in 0..500_u32 {
            let requests: Vec<_> = (0..=round % 3).map(|at| [round, at].map(u32::to_le_bytes).concat()).collect();
            for request in &requests {
                client.submit(request).expect("room");
            }
            let (_, mut ends) = turns(&mut client, requests.len());
            ends.sort_by_key(|end| end.clone().ok());
            assert_eq!(ends, requests.into_iter().map(Ok).collect::<Vec<_>>());
        }
        // Nothing is awaited: there is nothing to look for, and nothing comes.
        let awaited = client.rest(|completion| panic!("{completion:?}")).expect("a descriptor");
        let none = poll(&mut [PollFd::new(&awaited.descriptor, PollFlags::IN)], Some(&Timespec::default()));
        assert_eq!(none, Ok(0), "{at:?}");
        servers.into_iter().for_each(|server| _ = server.stop());
    }
}

#[test]
fn an_event_loop_sleeps_until_the_answer_the_deadline_or_the_end_of_the_server() {
    let _watchdog = Watchdog::new("an event loop that sleeps");
    let (server, may_answer) = held(&endpoint("rest-held"));
    let mut client = Client::connect_with(server.endpoint().clone(), sleeper()).expect("a connection");
    let ticket = client.submit_with(b"late", Options::default().deadline(Duration::from_millis(20))).expect("room");
    let (slept, ends) = turns(&mut client, 1);
    assert!(slept > 0 && ends == [Err(CallError::TimedOut)], "{slept} {ends:?}");
    assert!(!client.cancel(ticket), "it has ended");
    client.submit(b"in time").expect("room");
    let answer = std::thread::spawn({
        let may_answer = may_answer.clone();
        move || {
            throughout(Duration::from_millis(20), || {});
            may_answer.store(true, Ordering::Release);
        }
    });
    assert_eq!(turns(&mut client, 1).1, [Ok(b"in time".to_vec())]);
    answer.join().expect("it has not panicked");
    server.stop();
    client.rest(|completion| panic!("{completion:?}"));
    assert!(client.submit(b"after").is_err(), "the server is gone");
}

#[test]
fn a_client_that_polls_has_nothing_to_sleep_on_over_shared_memory() {
    let (server, may_answer) = held(&endpoint("rest-polls"));
    let mut client = Client::connect_with(server.endpoint().clone(), patient_client()).expect("a connection");
    client.submit(b"polled").expect("room");
    assert!(client.rest(|completion| panic!("{completion:?}")).is_none());
    may_answer.store(true, Ordering::Release);
    let mut ended = 0;
    wait_until("the answer", || {
        client.rest(|completion| ended += usize::from(completion.result.is_ok()));
        (ended == 1).then_some(())
    });
    server.stop();
}

/// Run time of a thread so far, in nanoseconds.
fn run_ns(thread: &Path) -> Option<u64> {
    let schedstat = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).ok()?;
    schedstat.split(' ').next()?.parse().ok()
}

#[test]
fn a_call_that_blocks_sleeps_while_it_waits_whatever_the_transport() {
    let _watchdog = Watchdog::new("a call that blocks");
    let [shm, udp, tcp] = everywhere("rest-call");
    let several = (0..2).map(|at| format!("{}-{at}", endpoint("rest-several"))).collect::<Vec<_>>();
    for at in [vec![shm.clone()], vec![udp], vec![tcp], several] {
        let servers: Vec<_> = at.iter().map(|at| held(at)).collect();
        let endpoints = servers.iter().map(|(server, _)| server.endpoint().to_string()).collect::<Vec<_>>().join(",");
        let (tell, thread) = channel();
        let calls = std::thread::spawn(move || {
            let mut client = Client::connect_with(&*endpoints, sleeper()).expect("a connection");
            tell.send(std::fs::read_link("/proc/thread-self").expect("a thread")).expect("a test");
            client.call(b"long").map(<[u8]>::to_vec)
        });
        let thread = thread.recv().expect("a thread");
        // The others wake up now and then: to send again, and to look after their connections.
        if at == [&*shm] {
            let spent = wait_until_unchanged("a call that sleeps", Duration::from_millis(200), || run_ns(&thread));
            assert!(spent.is_some(), "the thread is there");
        }
        servers.iter().for_each(|(_, may_answer)| may_answer.store(true, Ordering::Release));
        assert_eq!(calls.join().expect("it has not panicked").as_deref(), Ok(&b"long"[..]));
        for (server, _) in servers {
            server.stop();
        }
    }
}
