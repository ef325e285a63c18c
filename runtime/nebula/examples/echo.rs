//! A server that answers each request with the same bytes, and a client that calls it a thousand
//! times.
//!
//! Run it with `cargo run --release -p nebula --example echo`. It prints the reply, the median and
//! the 99th percentile of the round trip, and the server's counters, and ends. Both sides are
//! threads of one process here; they need not be.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{CallError, Client, Reply, Server};
use std::time::{Duration, Instant};

const CALLS: usize = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = format!("shm://example-echo-{}", std::process::id());
    let server = Server::bind(&endpoint)
        .slo(Duration::from_millis(10))
        .serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;

    let mut client = Client::connect(&endpoint)?;
    println!("reply: {}", String::from_utf8_lossy(client.call(b"hello")?));

    let (mut round_trips, mut refused) = (Vec::with_capacity(CALLS), 0);
    for _ in 0..CALLS {
        let sent = Instant::now();
        match client.call(&[7; 64]) {
            Ok(_) => round_trips.push(sent.elapsed()),
            Err(CallError::Nack { .. }) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    round_trips.sort_unstable();
    println!("{} calls answered, {refused} refused", round_trips.len());
    if let (Some(p50), Some(p99)) =
        (round_trips.get(round_trips.len() / 2), round_trips.get(round_trips.len() * 99 / 100))
    {
        println!("round trip: median {p50:?}, 99th percentile {p99:?}");
    }
    drop(client);
    println!("RPCs served: {}", server.stop().freed);
    Ok(())
}
