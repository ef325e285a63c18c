//! Instructions of an echo over shared memory, client and server together, for callgrind.
//!
//! ```text
//! echo_instructions RPCS BATCH [METRICS]
//! ```
//!
//! `METRICS` is 0 where nothing is sampled for the status page; 1 unless given. Both sides take
//! turns on one thread, `BATCH` RPCs at a time, so that no look finds nothing. Count within
//! [`exchange`] alone: `valgrind --tool=callgrind --toggle-collect='*exchange*'`.
//! `cargo xtask bench instructions` does that.

use nebula::{Client, ClientConfig, IdlePolicy, Reply, Server, ServerConfig, Span, Worker};
use std::error::Error;
use std::hint::black_box;

/// With its header a request fills one cache line.
const REQUEST: [u8; 48] = [7; 48];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = args.iter().map_while(|word| word.parse().ok()).collect();
    let (rpcs, batch, metrics) = match *numbers.as_slice() {
        [rpcs, batch] => (rpcs, batch, true),
        [rpcs, batch, metrics] => (rpcs, batch, metrics > 0),
        _ => return Err("usage: echo_instructions RPCS BATCH [METRICS]".into()),
    };
    let name = format!("shm://count-{}", std::process::id());
    // The SLO is long, because an RPC takes fifty times as long here, and none is to be refused for
    // that.
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).mtu_bytes(48).slo(Span::from_ms(100));
    let config = config.metrics(metrics);
    let (server, mut workers) = Server::bind(&name).config(config).open()?;
    let mut client = Client::connect_with(&name, ClientConfig::default().slots(64))?;
    // Once before it counts: the first of everything costs more.
    for _ in 0..32 {
        exchange_once(&mut client, &mut workers[0], batch)?;
    }
    exchange(&mut client, &mut workers[0], rpcs / batch, batch)?;
    server.stop();
    Ok(())
}

#[inline(never)]
fn exchange(client: &mut Client, worker: &mut Worker, rounds: usize, batch: usize) -> Result<(), Box<dyn Error>> {
    (0..black_box(rounds)).try_for_each(|_| exchange_once(client, worker, batch))
}

#[inline(always)]
fn exchange_once(client: &mut Client, worker: &mut Worker, batch: usize) -> Result<(), Box<dyn Error>> {
    let request = black_box(&REQUEST);
    for _ in 0..batch {
        client.submit(request)?;
    }
    let mut done = 0;
    while done < batch {
        worker.turn(&|request: &[u8], reply: &mut Reply| reply.write(request));
        while let Some(completion) = client.poll() {
            completion.result?;
            done += 1;
        }
    }
    Ok(())
}
