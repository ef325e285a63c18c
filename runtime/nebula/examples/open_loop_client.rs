//! A client that sends at a fixed rate, whether or not earlier RPCs have been answered: an open
//! loop.
//!
//! Run it with `cargo run --release -p nebula --example open_loop_client`. It sends 2,000 RPCs a
//! second for half a second and prints how each RPC ended and the latency. Latency counts from the
//! time at which an RPC was due, so a late send is not hidden.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{CallError, Client, Reply, Server, SubmitError, Ticket};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const RPCS: u32 = 1000;
const PERIOD: Duration = Duration::from_micros(500);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = format!("shm://example-open-loop-{}", std::process::id());
    let server = Server::bind(&endpoint)
        .slo(Duration::from_millis(10))
        .serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    let mut client = Client::connect(&endpoint)?;

    let mut outstanding: HashMap<Ticket, Instant> = HashMap::new();
    let (mut latencies, mut refused, mut not_sent) = (Vec::new(), 0, 0);
    let (started, mut next) = (Instant::now(), 0);
    while next < RPCS || !outstanding.is_empty() {
        let due = started + PERIOD * next;
        if next < RPCS && Instant::now() >= due {
            match client.submit(&next.to_le_bytes()) {
                Ok(ticket) => drop(outstanding.insert(ticket, due)),
                // As many RPCs are outstanding as the client has slots: this one is not sent.
                Err(SubmitError::Full) => not_sent += 1,
                Err(error) => return Err(error.into()),
            }
            next += 1;
        }
        if let Some(done) = client.poll() {
            let due = outstanding.remove(&done.ticket).ok_or("each ticket ends once")?;
            match done.result {
                Ok(_) => latencies.push(due.elapsed()),
                Err(CallError::Nack { .. }) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        } else {
            std::thread::yield_now();
        }
    }
    latencies.sort_unstable();
    println!("{} sent: {} answered, {refused} refused, {not_sent} not sent", RPCS, latencies.len());
    if let (Some(p50), Some(p99)) = (latencies.get(latencies.len() / 2), latencies.get(latencies.len() * 99 / 100)) {
        println!("latency: median {p50:?}, 99th percentile {p99:?}");
    }
    server.stop();
    Ok(())
}
