//! Calls of every kind of method, over both transports.

use super::endpoint;
use super::messages::{line, loose};
use nebula::{Class, ClientConfig, Fault, Key, Reply, RunningServer, Server, ServerConfig, Span, SubmitError};
use nebula_typed::{CallError, Channel, Classed, Code, ConnectError, Measured, Services};
use std::collections::BTreeSet;
use typed_tests::every::{
    CallerReply, Empty, EveryClient, EveryEnded, EveryMethod, EveryServer, FailRequest, MisbehaveRequest, OtherClient,
    OtherMethod, OtherServer, Pair,
};
use typed_tests::{Adder, EveryService};

/// A server of both services, over shared memory.
fn serve(endpoint: &str) -> RunningServer {
    let services = Services::new((EveryServer(EveryService), OtherServer(Adder)));
    Server::bind(endpoint).config(roomy()).serve(services).expect("a server")
}

fn roomy() -> ServerConfig {
    ServerConfig::default().inline(false).reply_bytes_max(2048)
}

fn calls_of_every_kind(client: &mut EveryClient) {
    assert_eq!(client.echo_line(&line()), Ok(line()));
    assert_eq!(client.echo_loose(&loose()), Ok(loose()));
    assert_eq!(client.nothing(&()), Ok(()));
    assert_eq!(client.poll_(&Empty {}), Ok(Empty {}));
    let fail = FailRequest { code: 5, message: "no such thing".into(), details: vec![1, 2, 3] };
    let error = client.fail(&fail).unwrap_err();
    let status = error.status().unwrap();
    assert_eq!((status.code(), status.message(), status.details()), (Code::NotFound, "no such thing", &[1, 2, 3][..]));
    assert_eq!(error.was_executed(), nebula::Executed::Yes);
}

#[test]
fn every_kind_of_method_is_called_over_shared_memory() {
    let endpoint = endpoint("calls");
    let server = serve(&endpoint);
    calls_of_every_kind(&mut EveryClient::connect(&endpoint).unwrap());
    server.stop();
}

#[test]
fn every_kind_of_method_is_called_over_a_network() {
    let key = Key::random().unwrap();
    let server = Server::bind("udp://127.0.0.1:0").config(roomy()).key(key.clone());
    let server = server.serve(EveryServer(EveryService)).unwrap();
    let endpoint = server.endpoint();
    calls_of_every_kind(&mut EveryClient::connect_with(endpoint, ClientConfig::default().key(key)).unwrap());
    server.stop();
}

#[test]
fn a_handler_knows_who_waits_and_for_how_long() {
    let endpoint = endpoint("caller");
    let server = serve(&endpoint);
    let mut client = EveryClient::connect(&endpoint).unwrap();
    assert_eq!(client.caller(&Empty {}), Ok(CallerReply::default()), "nothing over shared memory");
    server.stop();
    let server = Server::bind("udp://127.0.0.1:0").config(roomy()).serve(EveryServer(EveryService)).unwrap();
    let mut client = EveryClient::connect(server.endpoint()).unwrap();
    let caller = client.caller(&Empty {}).unwrap();
    assert!(caller.peer.starts_with("127.0.0.1:"), "{caller:?}");
    assert_eq!((caller.microseconds_left, caller.is_cancelled), (0, false), "no deadline");
    let config = ClientConfig::default().deadline(nebula::Span::from_ms(2000));
    let mut client = EveryClient::connect_with(server.endpoint(), config).unwrap();
    let caller = client.caller(&Empty {}).unwrap();
    assert!((1..=2_100_000).contains(&caller.microseconds_left) && !caller.is_cancelled, "{caller:?}");
    server.stop();
}

#[test]
fn one_connection_serves_the_clients_of_several_services() {
    let endpoint = endpoint("several");
    let server = serve(&endpoint);
    let mut every = EveryClient::connect(&endpoint).unwrap();
    assert_eq!(every.echo_line(&line()), Ok(line()));
    let mut other = OtherClient::over(every.into_channel()).unwrap();
    let most = Pair { a: i32::MAX.into(), b: i32::MAX.into() };
    assert_eq!(other.add(&most).unwrap().sum.get(), 2 * i64::from(i32::MAX));
    server.stop();
}

#[test]
fn submitted_rpcs_end_with_replies_of_their_methods() {
    let endpoint = endpoint("tickets");
    let server = serve(&endpoint);
    let mut client = EveryClient::connect(&endpoint).unwrap();
    let (mut lines, mut polls, mut submitted) = (BTreeSet::new(), BTreeSet::new(), 0);
    loop {
        let ticket = match submitted % 2 {
            0 => client.submit_echo_line(&line()).map(|ticket| lines.insert(ticket)),
            _ => client.submit_poll_(&Empty {}).map(|ticket| polls.insert(ticket)),
        };
        match ticket {
            Ok(is_new) => assert!(is_new),
            Err(error) => {
                assert_eq!(error, SubmitError::Full);
                break;
            }
        }
        submitted += 1;
    }
    assert!(submitted >= 8, "{submitted} were submitted");
    while !lines.is_empty() || !polls.is_empty() {
        let Some((ticket, reply)) = client.poll() else { continue };
        match reply {
            Ok(EveryEnded::EchoLine(reply)) => assert!(*reply == line() && lines.remove(&ticket)),
            Ok(EveryEnded::Poll(Empty {})) => assert!(polls.remove(&ticket)),
            // Whatever else is ready is refused.
            Err(CallError::Rpc(nebula::CallError::Nack { .. })) => {
                assert!(lines.remove(&ticket) || polls.remove(&ticket));
            }
            other => panic!("{other:?}"),
        }
    }
    server.stop();
}

#[test]
fn the_trace_reaches_the_handler() {
    let endpoint = endpoint("trace");
    let server = serve(&endpoint);
    let mut client = EveryClient::connect(&endpoint).unwrap();
    assert_eq!(client.trace(&Empty {}).unwrap().trace, "");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    client.channel().set_trace(Some(trace.parse().unwrap()));
    assert_eq!(client.trace(&Empty {}).unwrap().trace, trace);
    assert_eq!(client.echo_line(&line()), Ok(line()), "who does not ask for it does not see it");
    client.channel().set_trace(None);
    assert_eq!(client.trace(&Empty {}).unwrap().trace, "");
    server.stop();
}

#[test]
fn methods_of_class_worker_run_in_the_pool_and_no_others() {
    let endpoint = endpoint("classes");
    let alone = Server::bind("udp://127.0.0.1:0").config(roomy()).serve(EveryServer(EveryService)).unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    for server in [serve(&endpoint), alone] {
        let mut client = EveryClient::connect(server.endpoint()).unwrap();
        let served = || server.pool().unwrap().served;
        // The reply comes before its count.
        let settled = |count: u64| while served() < count {};
        assert_eq!(client.echo_line(&line()), Ok(line()));
        assert_eq!(served(), 0);
        client.trace(&Empty {}).unwrap();
        client.channel().set_trace(Some(trace));
        client.trace(&Empty {}).unwrap();
        settled(2);
        assert_eq!(client.echo_line(&line()), Ok(line()));
        assert_eq!(client.poll_(&Empty {}), Ok(Empty {}));
        assert_eq!(served(), 2);
        server.stop();
    }
    let server = Server::bind(&endpoint)
        .inline(false)
        .pool_threads(0)
        .reply_bytes_max(2048)
        .serve(EveryServer(EveryService))
        .unwrap();
    EveryClient::connect(&endpoint).unwrap().trace(&Empty {}).unwrap();
    assert_eq!(server.pool(), None);
    server.stop();
}

#[test]
fn a_server_says_where_a_method_runs_whatever_its_proto_says() {
    let endpoint = endpoint("classed");
    let one = EveryServer(EveryService)
        .with_class(EveryMethod::EchoLine, Class::Worker)
        .with_class(EveryMethod::Trace, Class::Worker)
        .with_class(EveryMethod::Trace, Class::Dispatch);
    let server = Server::bind(&endpoint).config(roomy()).serve(one).unwrap();
    let mut client = EveryClient::connect(&endpoint).unwrap();
    let served = || server.pool().unwrap().served;
    client.trace(&Empty {}).unwrap();
    assert_eq!(client.poll_(&Empty {}), Ok(Empty {}));
    assert_eq!(served(), 0);
    assert_eq!(client.echo_line(&line()), Ok(line()));
    client.caller(&Empty {}).unwrap();
    // The reply comes before its count.
    while served() < 2 {}
    server.stop();

    let services = Services::new((EveryServer(EveryService), OtherServer(Adder)));
    let server = Server::bind(&endpoint).config(roomy());
    let server = server.serve(Classed::new(services).with_class(OtherMethod::Add, Class::Worker)).unwrap();
    let mut client = OtherClient::connect(&endpoint).unwrap();
    assert_eq!(client.add(&Pair { a: 1.into(), b: 2.into() }).unwrap().sum.get(), 3);
    while server.pool().unwrap().served < 1 {}
    // Of the same number, and another service's.
    assert_eq!(EveryClient::connect(&endpoint).unwrap().echo_line(&line()), Ok(line()));
    assert_eq!(server.pool().unwrap().served, 1);
    server.stop();
}

#[test]
fn a_handler_that_misbehaves_ends_its_own_rpc() {
    let endpoint = endpoint("misbehave");
    let server = serve(&endpoint);
    let mut client = EveryClient::connect(&endpoint).unwrap();
    let panicked = client.misbehave(&MisbehaveRequest { panic: true.into() });
    assert_eq!(panicked, Err(CallError::Rpc(nebula::CallError::Fault(Fault::HandlerPanicked))));
    let silent = client.misbehave(&MisbehaveRequest::default()).unwrap_err();
    assert_eq!(silent.to_string(), "INTERNAL: the handler returned without a reply");
    assert_eq!(client.echo_line(&line()), Ok(line()), "the server goes on");
    server.stop();
}

#[test]
fn a_reply_without_room_is_told_by_both_encodings() {
    let endpoint = endpoint("room");
    let server = serve(&endpoint);
    let mut client = EveryClient::connect(&endpoint).unwrap();
    let mut large = loose();
    large.name = "x".repeat(6000);
    let too_large = CallError::Rpc(nebula::CallError::Fault(Fault::ReplyTooLarge));
    assert!(matches!(client.echo_loose(&large), Err(error) if error == too_large));
    server.stop();
}

#[test]
fn a_service_of_fixed_replies_says_how_long_they_are() {
    let endpoint = endpoint("fixed");
    let server = Server::bind(&endpoint).inline(false).serve(OtherServer(Adder)).unwrap();
    let mut client = OtherClient::connect(&endpoint).unwrap();
    assert_eq!(client.channel().client().reply_bytes_max(), Some(240), "room for a status; a sum needs 12");
    server.stop();
}

#[test]
fn a_server_without_the_service_is_refused_at_once() {
    let name = endpoint("without");
    let server = Server::bind(&name).inline(false).serve(OtherServer(Adder)).unwrap();
    let error = EveryClient::connect(&name).unwrap_err();
    assert_eq!(error.to_string(), "the server does not have tests.every.Every");
    let mut channel = Channel::connect_with(&name, ClientConfig::default()).unwrap();
    // A method that is not there, of a service that is.
    let reply = channel
        .client()
        .call(&[[0; 4], nebula_typed::MethodId::new(typed_tests::every::OTHER.id, 9).to_bytes()].concat());
    let reply = String::from_utf8_lossy(reply.unwrap()).into_owned();
    assert!(reply.starts_with("tests.every.Other has no method 9 here"), "{reply}");
    server.stop();

    let name = endpoint("bytes");
    let server =
        Server::bind(&name).inline(false).serve(|request: &[u8], reply: &mut Reply<'_>| reply.write(request)).unwrap();
    assert!(matches!(EveryClient::connect(&name), Err(ConnectError::Asked { cause: CallError::Status(_), .. })));
    server.stop();
}

#[test]
fn methods_are_counted_and_timed_each_for_itself() {
    let endpoint = endpoint("measured");
    let measured = Measured::new(EveryServer(EveryService));
    let stats = measured.stats();
    let other = Measured::new(OtherServer(Adder));
    let other_stats = other.stats();
    let server = Server::bind(&endpoint).config(roomy()).serve(Services::new((measured, other))).unwrap();
    let mut client = EveryClient::connect(&endpoint).unwrap();
    for _ in 0..3 {
        client.echo_line(&line()).unwrap();
    }
    client.echo_loose(&loose()).unwrap();
    assert!(client.fail(&FailRequest { code: 5, message: String::new(), details: vec![] }).is_err());
    let read = stats.read();
    let of = |name: &str| read.iter().find(|method| method.name == format!("tests.every.Every/{name}")).unwrap();
    assert_eq!([of("EchoLine").calls, of("EchoLoose").calls, of("Fail").calls], [3, 1, 1], "{read:?}");
    let idle = read.iter().filter(|method| method.calls == 0);
    assert!(idle.clone().count() > 0 && idle.into_iter().all(|method| method.longest == Span::ZERO), "{read:?}");
    for method in read.iter().filter(|method| method.calls > 0) {
        assert!(method.p50 <= method.p99 && method.mean <= method.longest && method.longest > Span::ZERO, "{method:?}");
        assert!(method.p99.as_ns() >= method.longest.as_ns(), "of three it is the longest: {method:?}");
    }
    assert!(other_stats.read().iter().all(|method| method.calls == 0), "{other_stats:?}");
    server.stop();
}
