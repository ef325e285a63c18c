//! Which cache lines a server touches, for callgrind's model of a cache.
//!
//! ```text
//! server_lines CLIENTS ROUNDS
//! ```
//!
//! Each client has one RPC outstanding. Clients and server take turns on one thread. Count within
//! [`serve_all`] alone: `valgrind --tool=callgrind --cache-sim=yes --toggle-collect='*serve_all*'`.
//! `cargo xtask bench instructions` does that.

use nebula::{Client, ClientConfig, IdlePolicy, Reply, Server, ServerConfig, Span, Worker};
use std::error::Error;

/// With its header a request fills one cache line.
const REQUEST: [u8; 48] = [7; 48];
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().map_while(|word| word.parse().ok()).collect();
    let &[clients, rounds] = numbers.as_slice() else { return Err("usage: server_lines CLIENTS ROUNDS".into()) };
    let name = format!("shm://lines-{}", std::process::id());
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).clients_max(u16::try_from(clients)?);
    // The SLO is long, because an RPC takes fifty times as long here, and none is to be refused for
    // that.
    let (server, mut workers) = Server::bind(&name).config(config.mtu_bytes(48).slo(Span::from_ms(100))).open()?;
    let connect = |_| Client::connect_with(&name, ClientConfig::default());
    let mut clients: Vec<Client> = (0..clients).map(connect).collect::<Result<_, _>>()?;
    for _ in 0..rounds {
        for client in &mut clients {
            client.submit(&REQUEST)?;
        }
        serve_all(&mut workers[0], clients.len());
        for client in &mut clients {
            client.poll().ok_or("no answer")?.result?;
        }
    }
    server.stop();
    Ok(())
}

#[inline(never)]
fn serve_all(worker: &mut Worker, rpcs: usize) {
    let mut served = 0;
    while served < rpcs {
        served += worker.turn(&|request: &[u8], reply: &mut Reply| reply.write(request));
    }
}
