//! Streams: window by window, over both transports, to their end or an error.

use super::endpoint;
use nebula::{ClientConfig, Key, Reply, Server, Service};
use nebula_typed::{CallError, Code};
use typed_tests::EveryService;
use typed_tests::every::{EveryClient, EveryServer, Number, NumbersRequest, WordsRequest};

fn numbers(client: &mut EveryClient, from: u64, below: u64) -> Vec<u64> {
    let request = NumbersRequest { from: from.into(), below: below.into() };
    client.numbers(&request).map(|number| number.unwrap().number.get()).collect()
}

/// Far more than one reply has room for.
fn all_of_a_stream_comes_in_order(client: &mut EveryClient) {
    assert_eq!(numbers(client, 3, 1000), (3..1000).collect::<Vec<_>>());
    assert_eq!(numbers(client, 5, 5), [0; 0]);
    let request = WordsRequest { below: 200.into(), padding: 9.into(), fail_at: 0.into() };
    let words: Vec<_> = client.words(&request).map(|word| word.unwrap().word.trim().to_owned()).collect();
    assert_eq!(words, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_stream_comes_whole_over_both_transports() {
    let key = Key::random().unwrap();
    let endpoint = endpoint("stream");
    let shm = Server::bind(&endpoint).inline(false).reply_bytes_max(512).serve(EveryServer(EveryService)).unwrap();
    all_of_a_stream_comes_in_order(&mut EveryClient::connect(&endpoint).unwrap());
    shm.stop();
    let udp = Server::bind("udp://127.0.0.1:0")
        .config(nebula::ServerConfig::default().inline(false).reply_bytes_max(512))
        .key(key.clone());
    let udp = udp.serve(EveryServer(EveryService)).unwrap();
    let config = ClientConfig::default().key(key);
    all_of_a_stream_comes_in_order(&mut EveryClient::connect_with(udp.endpoint(), config).unwrap());
    udp.stop();
}

#[test]
fn an_error_ends_a_stream_behind_what_came_before() {
    let endpoint = endpoint("stream-error");
    let config = nebula::ServerConfig::default().inline(false).mtu_bytes(576).reply_bytes_max(256);
    let server = Server::bind(&endpoint).config(config).serve(EveryServer(EveryService)).unwrap();
    let mut client = EveryClient::connect(&endpoint).unwrap();
    let request = WordsRequest { below: 200.into(), padding: 9.into(), fail_at: 100.into() };
    let mut words = client.words(&request);
    let (mut replies, mut error) = (0, None);
    for word in words.by_ref() {
        match word {
            Ok(_) => replies += 1,
            Err(CallError::Status(status)) => error = Some(status.code()),
            Err(other) => panic!("{other}"),
        }
    }
    assert!(replies > 50 && replies < 100, "whole windows before it: {replies}");
    assert_eq!((error, words.next()), (Some(Code::DataLoss), None));
    // One that fits no window.
    let request = WordsRequest { below: 2.into(), padding: 600.into(), fail_at: 0.into() };
    let error = client.words(&request).next().unwrap().unwrap_err();
    assert_eq!(error.status().unwrap().code(), Code::ResourceExhausted);
    server.stop();
}

/// Says what schema it has, and answers all else with the same bytes.
struct Liar(Vec<u8>);

impl Service for Liar {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        // The request for the schema is for method 0.
        match request.ends_with(&[0, 0]) {
            true => EveryServer(EveryService).serve(request, reply),
            false => reply.write(&self.0),
        }
    }
}

#[test]
fn a_client_ends_whatever_a_stream_holds() {
    let window = |replies: &[u8], end: &[u8]| [replies, end, &[0; 4]].concat();
    let bad = [
        (0, vec![]),
        (0, window(&[], &[])),
        (0, window(&[], &[0, 1])),
        (0, window(&[], &[9, 1])),
        // Without an end, and without a reply.
        (0, window(&[7], &[1, 1])),
        // Cut within a reply, and within its length.
        (0, window(&[9, 0, 0, 0, 1], &[0, 0])),
        (1, window(&[8, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], &[0, 0])),
        // No number.
        (0, window(&[3, 0, 0, 0, 1, 1, 1], &[0, 0])),
    ];
    for (number, (replies, answer)) in bad.into_iter().enumerate() {
        let endpoint = endpoint(&format!("liar-{number}"));
        let server = Server::bind(&endpoint).inline(false).reply_bytes_max(64).serve(Liar(answer)).unwrap();
        let mut client = EveryClient::connect(&endpoint).unwrap();
        let request = NumbersRequest { from: 0.into(), below: 9.into() };
        let all: Vec<Result<Number, CallError>> = client.numbers(&request).collect();
        assert_eq!(all.len(), replies + 1, "{number}: {all:?}");
        assert_eq!(all.last(), Some(&Err(CallError::Malformed)), "{number}");
        server.stop();
    }
}
