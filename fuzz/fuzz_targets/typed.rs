//! Any bytes as a request to a server of generated services: it answers with a reply or a status.
//! Any bytes as a message: decoded messages survive encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula::{Client, RunningServer, Server, Worker};
use nebula_typed::prost::Message as _;
use nebula_typed::{Encoding, Message, Proto, Services, TraceContext};
use std::cell::RefCell;
use typed_tests::every::{EveryServer, Line, Loose, OtherServer, Pair, Plain};
use typed_tests::{Adder, EveryService};

/// The end of every reply.
const END_BYTES: usize = 4;
/// The method that panics on request.
const MISBEHAVE: u16 = 4095;

struct Ends {
    worker: Worker,
    client: Client,
    _server: RunningServer,
}

thread_local! {
    static ENDS: RefCell<Ends> = RefCell::new(ends());
}

fn ends() -> Ends {
    let endpoint = format!("shm://fuzz-typed-{}", std::process::id());
    let (server, mut workers) = Server::bind(&endpoint).inline(true).reply_bytes_max(2048).open().expect("a server");
    let client = Client::connect(&endpoint).expect("a client");
    Ends { worker: workers.pop().expect("a worker"), client, _server: server }
}

fuzz_target!(|bytes: &[u8]| {
    read_and_write::<Line>(bytes);
    read_and_write::<Pair>(bytes);
    read_and_write::<Loose>(bytes);
    read_and_write::<Plain>(bytes);
    assert_eq!(Proto::decode(bytes).map(debug::<Plain>), Plain::decode(bytes).ok().map(debug), "prost reads the same");
    if let Ok(trace) = String::from_utf8_lossy(bytes).parse::<TraceContext>() {
        assert_eq!(trace.to_string().parse(), Ok(trace));
    }
    if !means(bytes, MISBEHAVE) {
        ENDS.with_borrow_mut(|ends| serve(ends, bytes));
    }
});

fn read_and_write<T: Message>(bytes: &[u8]) {
    let Some(message) = T::As::decode(bytes) else { return };
    let written = T::As::write(&message, <[u8]>::to_vec);
    let again = T::As::decode(&written).expect("what was written is a message");
    // Compared by their length: a NaN is unequal to itself, and a map has no order.
    assert_eq!(T::As::write(&again, <[u8]>::to_vec).len(), written.len());
}

/// As text: a NaN is unequal to itself.
fn debug<T: std::fmt::Debug>(message: T) -> String {
    format!("{message:?}")
}

fn means(request: &[u8], method: u16) -> bool {
    request.last_chunk().is_some_and(|number| u16::from_le_bytes(*number) & 0x0FFF == method)
}

fn serve(Ends { worker, client, .. }: &mut Ends, request: &[u8]) {
    let services = Services::new((EveryServer(EveryService), OtherServer(Adder)));
    if client.submit(request).is_err() {
        return; // longer than a request may be
    }
    for _ in 0..1_000_000 {
        worker.turn(&services);
        if let Some(done) = client.poll() {
            // A reply that does not fit is an error.
            let is_reply = done.result.map_or(true, |reply| reply.len() >= END_BYTES);
            return assert!(is_reply, "no reply of a typed service");
        }
    }
    panic!("no answer");
}
