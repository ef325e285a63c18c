//! Whatever bytes a client sends, a typed server answers, and goes on; whatever a server answers, a
//! typed client ends.

use super::endpoint;
use super::messages::{line, loose};
use nebula::{Client, ClientConfig, Reply, Server, ServerConfig, Service};
use nebula_typed::prost::Message as _;
use nebula_typed::zerocopy::IntoBytes as _;
use nebula_typed::{MethodId, Services};
use typed_tests::every::{EVERY, EveryClient, EveryServer, OTHER, OtherServer};
use typed_tests::{Adder, EveryService};

/// A server and a worker on the test's thread, and a client.
fn pair(name: &str) -> (nebula::RunningServer, nebula::Worker, Client) {
    let config = ServerConfig::default().inline(true).reply_bytes_max(2048);
    let (server, mut workers) = Server::bind(&endpoint(name)).config(config).open().unwrap();
    let client = Client::connect_with(&endpoint(name), ClientConfig::default()).unwrap();
    (server, workers.pop().unwrap(), client)
}

/// The reply to `request`.
fn ask<S: Service>(worker: &mut nebula::Worker, client: &mut Client, service: &S, request: &[u8]) -> Vec<u8> {
    client.submit(request).unwrap();
    for _ in 0..1_000_000 {
        worker.turn(service);
        if let Some(done) = client.poll() {
            return done.result.unwrap().to_vec();
        }
    }
    panic!("no answer to {request:?}");
}

#[test]
fn a_server_answers_whatever_bytes_come() {
    let (server, mut worker, mut client) = pair("any-bytes");
    let services = Services::new((EveryServer(EveryService), OtherServer(Adder)));
    let mut replies = 0;
    nebula_testing::seeded(|u| {
        let service = *u.choose(&[EVERY.id, OTHER.id, 1])?;
        let method = *u.choose(&[0, 1, 2, 3, 7, 8, 9, 10, 4094])?;
        let mut request = Vec::new();
        match u.int_in_range(0..=3)? {
            0 => request.extend_from_slice(line().as_bytes()),
            1 => request.extend_from_slice(&loose().encode_to_vec()),
            2 => request.extend_from_slice(&[u.arbitrary()?; 12]),
            _ => {}
        }
        request.extend_from_slice(&MethodId::new(service, method).to_bytes());
        for _ in 0..u.int_in_range(0..=3)? {
            let at = u.choose_index(request.len())?;
            request[at] = u.arbitrary()?;
        }
        // What is cut off at its beginning still says the method.
        let (from, to) = (u.choose_index(request.len())?, u.choose_index(request.len())?);
        match u.int_in_range(0..=3)? {
            0 => drop(request.drain(..from)),
            1 => request.truncate(to),
            _ => {}
        }
        // The method that panics would fill the output.
        if request.ends_with(&4095_u16.to_le_bytes()) {
            return Ok(());
        }
        let reply = ask(&mut worker, &mut client, &services, &request);
        assert!(reply.len() >= 4, "{request:?} got {reply:?}");
        replies += usize::from(reply.ends_with(&[0; 4]));
        Ok(())
    });
    assert!(replies > 0, "some were right");
    server.stop();
}

/// Answers each RPC with the same bytes.
struct Parrot(Vec<u8>);

impl Service for Parrot {
    fn serve(&self, _: &[u8], reply: &mut Reply<'_>) {
        reply.write(&self.0);
    }
}

#[test]
fn a_client_ends_whatever_a_server_answers() {
    // Ends of a status, of a reply; schemas longer than said, without an end, of another message.
    let schema = |length: u32, bytes: &[u8]| [&[9; 8][..], &length.to_le_bytes(), bytes, &[0; 4]].concat();
    let answers = [
        vec![],
        vec![0],
        vec![0; 4],
        vec![1, 0, 255, 255],
        vec![b'x', 0, 0, 1, 0],
        schema(0, &[1]),
        schema(1, &[]),
        schema(4, &[255; 4]),
        schema(u32::MAX, &[1; 40]),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let endpoint = endpoint(&format!("parrot-{number}"));
        let config = ServerConfig::default().inline(false).reply_bytes_max(64);
        let unending = answer.len() == 56;
        let server = Server::bind(&endpoint).config(config).serve(Parrot(answer.clone())).unwrap();
        let connected = EveryClient::connect(&endpoint);
        assert!(connected.is_err(), "{answer:?}{}", if unending { ", which never ends" } else { "" });
        server.stop();
    }
}
