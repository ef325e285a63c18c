//! Round trips of RPCs that run where they arrive, and of RPCs that go to the thread of a pool:
//! Dagger's dispatch and worker threads. With fewer than three cores the pool's thread shares one.

use crate::Failure;
use crate::row::{against, plain};
use nebula::{Class, Client, Description, Reply, Server, ServerConfig, Service, Span};
use std::time::{Duration, Instant};

/// Turns of each, so that other work of the machine meets both.
const ROUNDS: usize = 10;
const CALLS: usize = 20_000;

/// An echo whose requests are all long, though they take nothing.
struct Echo;

impl Service for Echo {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().classes(|_| Class::Worker)
    }
}

/// The times of `calls` calls, one after another, of a server whose pool has as many threads.
fn times(pool_threads: u16, calls: usize) -> Result<Vec<Duration>, Failure> {
    let config = ServerConfig::default().inline(true).slo(Span::from_ms(1)).pool_threads(pool_threads);
    let name = format!("shm://bench-hand-over-{}", std::process::id());
    let server = Server::bind(&name).config(config).serve(Echo)?;
    let mut client = Client::connect(&name)?;
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let asked = Instant::now();
        client.call(&[0; 48])?;
        times.push(asked.elapsed());
    }
    server.stop();
    Ok(times)
}

pub fn run() -> Result<(), Failure> {
    let mut of_each = [(0, Vec::new()), (1, Vec::new())];
    for _ in 0..ROUNDS {
        for (threads, all) in &mut of_each {
            all.extend(times(*threads, CALLS / ROUNDS)?);
        }
    }
    let [arrived, pooled] = of_each.map(|(_, mut times)| {
        times.sort_unstable();
        [50, 95].map(|percent| times[times.len() * percent / 100].as_secs_f64() * 1e9)
    });
    for (at, figure) in ["p50", "p95"].into_iter().enumerate() {
        let base = format!("RPCs that run where they arrive, round trip {figure}");
        plain(&base, arrived[at], "ns");
        against(
            &format!("RPCs that go to a pool's thread, round trip {figure}"),
            pooled[at],
            "ns",
            (&base, arrived[at]),
            None,
        );
    }
    Ok(())
}
