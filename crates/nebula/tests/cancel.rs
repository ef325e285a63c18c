//! RPCs over shared memory that their client takes back, or gives their own deadline.

use crate::support::watch::{Watchdog, wait_until};
use crate::support::{echo, endpoint, server_config};
use nebula::{CallError, Client, ClientConfig, Executed, Options, Reply, Server, Span, SubmitError};
use std::sync::{Mutex, mpsc};

#[test]
fn what_is_taken_back_ends_once_and_its_slot_comes_free_with_its_answer() {
    let _watchdog = Watchdog::new("what is taken back");
    let name = endpoint("cancel");
    let config = server_config(|config| config.inline = true);
    let (server, mut workers) = Server::bind(&name).config(config).open().expect("a server");
    let mut worker = workers.pop().expect("one worker");
    let mut client = Client::connect_with(&name, ClientConfig::default().slots(2)).expect("a connection");
    let (first, second) = (client.submit(b"first").expect("room"), client.submit(b"second").expect("room"));
    assert!(client.cancel(first) && !client.cancel(first));
    assert_eq!(client.submit(b"third"), Err(SubmitError::Full), "its slot is the server's until it has answered");
    let (mut ends, runs) = (Vec::new(), Mutex::new(Vec::new()));
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        runs.lock().expect("one thread").push(request.to_vec());
        echo(request, reply);
    };
    wait_until("both ends", || {
        ends.extend(client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::to_vec))));
        worker.turn(&service);
        (ends.len() == 2).then_some(())
    });
    ends.sort_unstable_by_key(|end| end.0);
    assert_eq!(ends, [(first, Err(CallError::Cancelled)), (second, Ok(b"second".to_vec()))]);
    assert_eq!(*runs.lock().expect("one thread"), [b"second".to_vec()], "the server was told before it began");
    assert_eq!(CallError::Cancelled.was_executed(), Executed::Unknown);
    assert_eq!((client.outstanding(), client.cancel(second)), (0, false));
    for _ in 0..2 {
        client.submit(b"again").expect("both slots are free");
    }
    server.stop();
}

#[test]
fn a_handler_that_runs_can_ask_whether_its_client_has_taken_the_rpc_back() {
    let _watchdog = Watchdog::new("a handler that asks");
    for inline in [true, false] {
        let (begin, begun) = mpsc::channel();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            if request == b"wait" {
                assert!(!reply.is_cancelled());
                begin.send(()).expect("the test waits");
                wait_until("the cancel", || reply.is_cancelled().then_some(()));
            }
            assert_eq!(reply.is_cancelled(), request == b"wait", "what was said of another RPC");
            reply.write(request);
        };
        let name = endpoint(&format!("asks-{inline}"));
        let server = Server::bind(&name).config(server_config(|config| config.inline = inline)).serve(service);
        let server = server.expect("a server");
        let mut client = Client::connect_with(&name, ClientConfig::default().slots(4)).expect("a connection");
        for _ in 0..9 {
            let ticket = client.submit(b"wait").expect("room");
            begun.recv().expect("a handler");
            assert!(client.cancel(ticket));
            let end = wait_until("its end", || client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len))));
            assert_eq!(end, (ticket, Err(CallError::Cancelled)));
            assert_eq!(client.call(b"another"), Ok(&b"another"[..]));
        }
        server.stop();
    }
}

#[test]
fn a_deadline_of_its_own_ends_one_call_and_not_the_others() {
    let _watchdog = Watchdog::new("its own deadline");
    let name = endpoint("own-deadline");
    let config = server_config(|config| config.inline = true);
    let (server, mut workers) = Server::bind(&name).config(config).open().expect("a server");
    let mut worker = workers.pop().expect("one worker");
    let mut client = Client::connect(&name).expect("a connection");
    let patient = client.submit(b"patient").expect("room");
    let hasty = client.submit_with(b"hasty", Options::default().deadline(Span::from_us(1))).expect("room");
    // Nobody serves meanwhile.
    let first = wait_until("the deadline", || client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len))));
    assert_eq!(first, (hasty, Err(CallError::TimedOut)));
    let second = wait_until("the other's reply", || {
        worker.turn(&echo);
        client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len)))
    });
    assert_eq!(second, (patient, Ok(7)));
    server.stop();
}
