//! RPCs that their client cancels, or that have their own deadline.

use crate::support::exchange::next_end;
use crate::support::log_file::LogFile;
use crate::support::{echo, endpoint, endpoints, open_one, patient_client, server_config};
use nebula::{
    CallError, Class, Client, Description, Executed, LaterReply, Options, Reply, Server, Service, Span, SubmitError,
};
use nebula_nic::{ReplayError, replay_text};
use nebula_testing::wait::{Watchdog, wait_until};
use std::sync::{Mutex, mpsc};

#[test]
fn what_is_taken_back_ends_once_and_its_slot_comes_free_with_its_answer() {
    let _watchdog = Watchdog::new("what is taken back");
    let (name, file) = (endpoint("cancel"), LogFile::new("cancel"));
    let config = server_config(|config| (config.inline, config.decision_log) = (Some(true), Some(file.0.clone())));
    let (server, mut worker) = open_one(&name, config);
    let mut client = Client::connect_with(&name, patient_client().slots(2)).expect("a connection");
    let (first, second) = (client.submit(b"first").expect("room"), client.submit(b"second").expect("room"));
    assert!(client.cancel(first) && !client.cancel(first));
    assert_eq!(client.submit(b"third"), Err(SubmitError::Full), "its slot is the server's until it has answered");
    let (mut ends, runs) = (Vec::new(), Mutex::new(Vec::new()));
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        runs.lock().expect("one thread").push(request.to_vec());
        echo(request, reply);
    };
    wait_until("both ends", || {
        ends.extend(next_end(&mut client));
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
    drop(worker);
    assert_replays(&file, 1);
}

/// The log replays, and says of so many RPCs that they were cancelled.
fn assert_replays(file: &LogFile, cancelled: usize) {
    let log = file.text();
    let cancel = "deadline=never cancelled=1 -> nack cancelled";
    assert_eq!(log.matches(cancel).count(), cancelled, "{log}");
    replay_text(&log).unwrap_or_else(|error| panic!("{error} in\n{log}"));
    let other = replay_text(&log.replacen(cancel, "deadline=never cancelled=1 -> nack expired", 1));
    assert!(matches!(other, Err(ReplayError::Difference(_))), "{other:?}");
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
        let server = Server::bind(&name).config(server_config(|config| config.inline = Some(inline))).serve(service);
        let server = server.expect("a server");
        let mut client = Client::connect_with(&name, patient_client().slots(4)).expect("a connection");
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
    let config = server_config(|config| config.inline = Some(true));
    let (server, mut worker) = open_one(&name, config);
    let mut client = Client::connect_with(&name, patient_client()).expect("a connection");
    let patient = client.submit(b"patient").expect("room");
    let hasty = client.submit_with(b"hasty", Options::default().deadline(Span::from_us(1))).expect("room");
    // No worker serves meanwhile.
    let first = wait_until("the deadline", || client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len))));
    assert_eq!(first, (hasty, Err(CallError::TimedOut)));
    let second = wait_until("the other's reply", || {
        worker.turn(&echo);
        client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len)))
    });
    assert_eq!(second, (patient, Ok(7)));
    server.stop();
}

/// A handler of `wait…` reports that it has begun, and then waits until the test releases it.
struct Waits {
    begin: mpsc::Sender<Vec<u8>>,
    go_on: Mutex<mpsc::Receiver<()>>,
    is_long: bool,
}

impl Waits {
    /// Also returns the requests that have begun, and what releases one.
    fn new(is_long: bool) -> (Self, mpsc::Receiver<Vec<u8>>, mpsc::Sender<()>) {
        let ((begin, begun), (let_go, go_on)) = (mpsc::channel(), mpsc::channel());
        (Self { begin, go_on: Mutex::new(go_on), is_long }, begun, let_go)
    }
}

impl Service for Waits {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.begin.send(request.to_vec()).expect("the test waits");
        if request.starts_with(b"wait") {
            self.go_on.lock().expect("one at a time").recv().expect("the test lets it go");
        }
        reply.write(request);
    }

    fn describe(&self) -> Description {
        match self.is_long {
            true => Description::default()
                .classes(|request| if request == b"short" { Class::Dispatch } else { Class::Worker }),
            false => Description::default(),
        }
    }
}

/// An RPC cancelled while it waits behind another: for a core, or in the pool for a thread.
#[test]
fn what_is_taken_back_while_it_waits_is_not_executed() {
    let _watchdog = Watchdog::new("taken back while it waits");
    for (is_long, at) in
        [(false, endpoint("waits")), (true, endpoint("waits-in-pool")), (true, "udp://127.0.0.1:0".into())]
    {
        let (service, begun, let_go) = Waits::new(is_long);
        let file = LogFile::new("cancel-waits");
        let config = server_config(|config| {
            (config.slo, config.service_mean) = (Span::from_secs(3600), Span::from_secs(1));
            config.decision_log = Some(file.0.clone());
        });
        let server = Server::bind(&at).config(config).serve(service).expect("a server");
        let mut client =
            Client::connect_with(server.endpoint().clone(), patient_client().slots(16)).expect("a connection");
        let tickets: Vec<_> =
            [&b"wait"[..], b"1", b"2", b"3", b"4"].map(|request| client.submit(request).expect("room")).into();
        client.flush();
        let mut ends = Vec::new();
        wait_until("one to run and the others to wait", || {
            ends.extend(next_end(&mut client));
            let do_wait = match server.pool() {
                Some(pool) => pool.held == 5,
                None => server.status().read().queue_depth == 3,
            };
            do_wait.then_some(())
        });
        assert_eq!(begun.recv().expect("it runs"), b"wait");
        assert!(client.cancel(tickets[3]) && client.cancel(tickets[4]));
        if is_long {
            // It comes behind the cancels.
            let last = client.submit(b"short").expect("room");
            client.flush();
            let _reply = wait_until("the reply to what came last", || {
                ends.extend(next_end(&mut client));
                ends.iter().position(|(ticket, _)| *ticket == last).map(|at| ends.swap_remove(at))
            });
            assert_eq!(begun.recv().expect("it was served"), b"short");
        }
        let_go.send(()).expect("it runs");
        wait_until("all ends", || {
            ends.extend(next_end(&mut client));
            (ends.len() == 5).then_some(())
        });
        ends.sort_unstable_by_key(|end| end.0);
        let served = |at: usize, reply: &[u8]| (tickets[at], Ok(reply.to_vec()));
        let taken_back = |at: usize| (tickets[at], Err(CallError::Cancelled));
        assert_eq!(ends, [served(0, b"wait"), served(1, b"1"), served(2, b"2"), taken_back(3), taken_back(4)], "{at}");
        wait_until("no slots used", || (server.status().read().slots_used == 0).then_some(()));
        assert_eq!(begun.try_iter().collect::<Vec<_>>(), [b"1", b"2"], "{at}");
        server.stop();
        if is_long {
            // The pool's threads do not log why a client waits no more.
            let log = file.text();
            replay_text(&log).unwrap_or_else(|error| panic!("{at}: {error} in\n{log}"));
            assert_eq!([log.matches("pool client=").count(), log.matches("pool next -> ").count()], [5, 5], "{log}");
            let other = replay_text(&log.replacen("-> last", "-> first", 1));
            assert!(matches!(other, Err(ReplayError::Difference(_))), "{other:?}");
        } else {
            assert_replays(&file, 2);
        }
    }
}

#[test]
fn who_holds_a_reply_for_later_can_ask_whether_anybody_waits_for_it() {
    let _watchdog = Watchdog::new("a reply for later");
    for at in endpoints("later-asks") {
        let (hand_on, held) = mpsc::channel::<LaterReply>();
        let config = server_config(|config| config.later_max = Some(4));
        let service = move |_: &[u8], reply: &mut Reply<'_>| {
            hand_on.send(reply.later().expect("configured")).expect("the test waits")
        };
        let server = Server::bind(&at).config(config).serve(service).expect("a server");
        let mut client = Client::connect_with(server.endpoint().clone(), patient_client()).expect("a connection");
        let [stays, goes] = [b"stays", b"goes!"].map(|request| client.submit(request).expect("room"));
        client.flush();
        let mut next = || {
            wait_until("a handler", || {
                assert!(client.poll().is_none());
                held.try_recv().ok()
            })
        };
        let (stayed, gone) = (next(), next());
        assert!(!stayed.is_cancelled() && !gone.is_cancelled(), "{at}");
        assert!(client.cancel(goes));
        let mut ends = Vec::new();
        wait_until("it to be told", || {
            ends.extend(next_end(&mut client));
            gone.is_cancelled().then_some(())
        });
        assert!(!stayed.is_cancelled(), "{at}: what was said of another RPC");
        gone.answer(b"to nobody");
        stayed.answer(b"to its client");
        wait_until("both ends", || {
            ends.extend(next_end(&mut client));
            (ends.len() == 2).then_some(())
        });
        ends.sort_unstable_by_key(|end| end.0);
        assert_eq!(ends, [(stays, Ok(b"to its client".to_vec())), (goes, Err(CallError::Cancelled))], "{at}");
        server.stop();
    }
}
