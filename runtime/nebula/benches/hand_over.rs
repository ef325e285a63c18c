//! Round trips of RPCs that are served where they arrive, and of RPCs that are handed on to the
//! pool's thread: Dagger's dispatch and worker threads.
//!
//! ```text
//! cargo bench -p nebula --bench hand_over -- [CALLS]
//! ```
//!
//! The server shares the machine. Run it where there are three cores that nobody else uses, or the
//! pool's thread waits for one of two.

use nebula::{Class, Client, ClientConfig, Reply, Server, ServerConfig, Service, Span};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

/// Each has its turn so many times: what else the machine does meets both.
const ROUNDS: usize = 10;

/// An echo whose requests are all long, though they take nothing.
struct Echo;

impl Service for Echo {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        reply.write(request);
    }

    fn has_long(&self) -> bool {
        true
    }

    fn class(&self, _: &[u8]) -> Class {
        Class::Worker
    }
}

/// The times of `calls` calls, one after another, of a server whose pool has as many threads.
fn times(pool_threads: u16, calls: usize) -> Result<Vec<Duration>, Box<dyn Error>> {
    let config = ServerConfig::default().inline(true).slo(Span::from_ms(1)).pool_threads(pool_threads);
    let name = format!("shm://bench-hand-over-{}", std::process::id());
    let server = Server::bind(&name).config(config).serve(Echo)?;
    let mut client = Client::connect_with(&name, ClientConfig::default())?;
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let asked = Instant::now();
        client.call(&[0; 48])?;
        times.push(asked.elapsed());
    }
    server.stop();
    Ok(times)
}

fn main() -> Result<(), Box<dyn Error>> {
    let number = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let calls: usize = number.unwrap_or(20_000).max(ROUNDS);
    let mut of_each = [(0, "where they arrive", Vec::new()), (1, "by the pool's thread", Vec::new())];
    for _ in 0..ROUNDS {
        for (threads, _, all) in &mut of_each {
            all.extend(times(*threads, calls / ROUNDS)?);
        }
    }
    for (_, what, times) in &mut of_each {
        times.sort_unstable();
        let [p50, p95] = [50, 95].map(|percent| times[times.len() * percent / 100]);
        writeln!(std::io::stdout(), "served {what}: round trip p50 {p50:?}, p95 {p95:?}")?;
    }
    Ok(())
}
