//! The three calls of the papers (NEBULA, ISCA 2020, section IV-B): `wait_for_RPC`, `RPC_send`,
//! `free_buffer`.
//!
//! Run it with `cargo run --release -p nebula --example three_calls`. A worker that the program
//! drives itself reverses ten requests. It prints each reply and the counters of the receive
//! buffer, and ends.
//!
//! | papers | server | client |
//! |---|---|---|
//! | `wait_for_RPC` | [`Worker::wait_for_rpc`] | [`Client::poll`] |
//! | `RPC_send` | [`Rpc::rpc_send`](nebula::Rpc::rpc_send) | [`Client::rpc_send`] |
//! | `free_buffer` | dropping the [`Rpc`](nebula::Rpc) | the next call of `poll` |
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{Client, Server, Worker};
use std::time::Duration;

const RPCS: u64 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = format!("shm://example-three-calls-{}", std::process::id());
    // `open` starts the engine and returns the workers, which the caller runs.
    let (server, mut workers) = Server::bind(&endpoint).slo(Duration::from_secs(10)).open()?;
    let worker = workers.pop().ok_or("a server has one worker unless told otherwise")?;
    let serving = std::thread::spawn(move || reverse(&worker));

    let mut client = Client::connect(&endpoint)?;
    for number in 0..RPCS {
        client.rpc_send(format!("request {number}").as_bytes())?;
    }
    let mut replies = 0;
    while replies < RPCS {
        if let Some(done) = client.poll() {
            println!("reply: {}", String::from_utf8_lossy(done.result?));
            replies += 1;
        }
    }
    let status = server.stop();
    let served = serving.join().map_err(|_| "the worker panicked")?;
    println!(
        "worker served {served} RPCs; receive buffer: {} slots, {} held at once",
        status.slots, status.slots_used_max
    );
    Ok(())
}

/// Serves until the server stops; returns how many RPCs.
fn reverse(worker: &Worker) -> u64 {
    let mut served = 0;
    while let Some(mut rpc) = worker.wait_for_rpc() {
        // The payload stays in the receive buffer; nothing is copied before it is needed.
        let reversed: Vec<u8> = rpc.payload().iter().rev().copied().collect();
        rpc.rpc_send(&reversed);
        served += 1;
        // Here `rpc` is dropped, which frees its slots of the receive buffer.
    }
    served
}
