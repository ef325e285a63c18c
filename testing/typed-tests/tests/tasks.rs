//! Clients for many tasks, and replies that are given later.

use super::endpoint;
use super::messages::{line, loose};
use nebula::{ClientConfig, Key, Server, ServerConfig, Span};
use nebula_typed::{CallError, Code, ConnectError, Context, LaterSlot, Slot, Status};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::task::{Poll, Waker};
use typed_tests::every::{
    EveryAsyncClient, EveryServer, FailRequest, Other, OtherAsyncClient, OtherClient, OtherServer, Pair, Sum,
    WordsRequest,
};
use typed_tests::{Adder, EveryService};

/// Drives all `futures` to their ends on this thread.
pub(crate) fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    let mut context = std::task::Context::from_waker(Waker::noop());
    while futures.iter().any(|(_, output)| output.is_none()) {
        for (future, output) in futures.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
                *output = Some(ready);
            }
        }
    }
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

fn many_calls_share_a_connection(client: &EveryAsyncClient) {
    let calls = (0..40).map(|number: u32| async move {
        match number % 3 {
            0 => client.echo_line(&line()).await.is_ok_and(|reply| reply == line()),
            1 => client.echo_loose(&loose()).await.is_ok_and(|reply| reply == loose()),
            _ => {
                let request = FailRequest { code: 5, message: number.to_string(), details: vec![] };
                let error = client.fail(&request).await.unwrap_err();
                error.status().is_some_and(|status| status.message() == number.to_string())
            }
        }
    });
    assert_eq!(all(calls), [true; 40]);
}

#[test]
fn tasks_call_methods_over_both_transports() {
    let endpoint = endpoint("tasks");
    // Nothing is refused, however slow the machine is.
    let config = ServerConfig::default()
        .inline(false)
        .reply_bytes_max(2048)
        .slo(Span::from_secs(3600))
        .service_mean(Span::from_secs(1));
    let shm = Server::bind(&endpoint).config(config.clone()).serve(EveryServer(EveryService)).unwrap();
    many_calls_share_a_connection(&EveryAsyncClient::connect(&endpoint).wait().unwrap());
    let wrong = OtherAsyncClient::connect(&endpoint).wait().unwrap_err();
    assert!(matches!(wrong, ConnectError::NotServed { service: "tests.every.Other" }), "{wrong}");
    shm.stop();
    let key = Key::random().unwrap();
    let udp = Server::bind("udp://127.0.0.1:0").config(config).key(key.clone());
    let udp = udp.serve(EveryServer(EveryService)).unwrap();
    let config = ClientConfig::default().key(key);
    many_calls_share_a_connection(&EveryAsyncClient::connect_with(udp.endpoint(), config).wait().unwrap());
    udp.stop();
}

#[test]
fn tasks_read_streams_to_their_end_or_an_error() {
    let endpoint = endpoint("task-streams");
    let config = nebula::ServerConfig::default().inline(false).mtu_bytes(576).reply_bytes_max(256);
    let server = Server::bind(&endpoint).config(config).serve(EveryServer(EveryService)).unwrap();
    let client = EveryAsyncClient::connect(&endpoint).wait().unwrap();
    let read = |below: u64, fail_at: u64| {
        let client = &client;
        async move {
            let request = WordsRequest { below: below.into(), padding: 9.into(), fail_at: fail_at.into() };
            let (mut words, mut read) = (client.words(&request), Vec::new());
            while let Some(word) = words.next().await {
                read.push(word.map(|word| word.word.trim().to_owned()));
            }
            read
        }
    };
    let mut ends = all([read(200, 0), read(0, 0), read(200, 150)]);
    let failed = ends.pop().unwrap();
    assert_eq!(ends, [(0..200).map(|number| Ok(number.to_string())).collect(), vec![]]);
    let (last, before) = failed.split_last().unwrap();
    assert_eq!(last.as_ref().unwrap_err().status().map(Status::code), Some(Code::DataLoss));
    assert!(before.len() > 50 && before.iter().all(Result::is_ok), "whole windows come before it");
    server.stop();
}

/// Leaves each RPC to another thread.
struct Later(Mutex<Sender<(i32, LaterSlot<Sum>)>>);

impl Other for Later {
    fn add(&self, _: &Context, request: &Pair, reply: Slot<Sum>) -> Result<(), Status> {
        self.0.lock().unwrap().send((request.a.get(), reply.later()?)).unwrap();
        Ok(())
    }
}

#[test]
fn a_reply_may_be_given_later_by_another_thread() {
    let endpoint = endpoint("later");
    let (sender, receiver) = channel();
    let config = ServerConfig::default().inline(false).later_max(8);
    let server = Server::bind(&endpoint).config(config).serve(OtherServer(Later(Mutex::new(sender)))).unwrap();
    let answering = std::thread::spawn(move || receiver.iter().take(12).for_each(answer));
    let mut client = OtherClient::connect(&endpoint).unwrap();
    for number in 0..12 {
        let reply = client.add(&Pair { a: number.into(), b: 0.into() });
        match number % 3 {
            0 => assert_eq!(reply.unwrap().sum.get(), i64::from(number)),
            1 => assert_eq!(reply.unwrap_err().status().map(Status::code), Some(Code::Aborted)),
            _ => assert!(matches!(reply, Err(CallError::Rpc(nebula::CallError::Fault(nebula::Fault::Unanswered))))),
        }
    }
    answering.join().unwrap();
    server.stop();
    // A server that is not configured for it says so.
    let (sender, _receiver) = channel();
    let server = Server::bind(&endpoint).inline(false).serve(OtherServer(Later(Mutex::new(sender)))).unwrap();
    let mut client = OtherClient::connect(&endpoint).unwrap();
    let error = client.add(&Pair::default()).unwrap_err();
    assert_eq!(error.status().map(Status::code), Some(Code::Internal));
    server.stop();
}

/// Gives a reply, an error, or neither.
fn answer((number, slot): (i32, LaterSlot<Sum>)) {
    match number % 3 {
        0 => slot.end(Ok(Sum { sum: i64::from(number).into() })),
        1 => slot.end(Err(Status::aborted("not today"))),
        _ => drop(slot),
    }
}

#[test]
fn a_sum_is_the_same_for_tasks_and_for_threads() {
    let endpoint = endpoint("both");
    let server = Server::bind(&endpoint).inline(false).serve(OtherServer(Adder)).unwrap();
    let request = Pair { a: 20.into(), b: 22.into() };
    let client = OtherAsyncClient::connect(&endpoint).wait().unwrap();
    assert_eq!(all([client.add(&request)]), [OtherClient::connect(&endpoint).unwrap().add(&request)]);
    server.stop();
}
