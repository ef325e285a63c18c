//! Handlers run where their RPCs arrive (dispatch threads), or in a pool (worker threads).
//!
//! `cargo run --release -p nebula --example threads` has one short RPC and four long ones.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{Class, Client, Description, Reply, Server, ServerConfig, Service, Span};
use std::time::{Duration, Instant};

/// Takes as many microseconds as its request says; a request of no bytes is short.
struct Takes;

impl Service for Takes {
    fn serve(&self, request: &[u8], _: &mut Reply<'_>) {
        let (began, us) = (Instant::now(), request.try_into().map_or(0, u64::from_le_bytes));
        // What takes long mostly waits for something.
        std::thread::sleep(Duration::from_micros(us / 30 * 30));
        while began.elapsed() < Duration::from_micros(us) {}
    }

    fn describe(&self) -> Description {
        Description::default().classes(|request| if request.is_empty() { Class::Dispatch } else { Class::Worker })
    }
}

/// The median of a short RPC in microseconds, and RPCs of `us` a second.
fn measure(us: u64, pool_threads: u16) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let name = format!("shm://threads-{}", std::process::id());
    let config = ServerConfig::default().inline(true).slo(Span::from_ms(100)).pool_threads(pool_threads);
    let server = Server::bind(&name).config(config).serve(Takes)?;
    let (mut client, began, mut ended, mut took) = (Client::connect(&name)?, Instant::now(), 0, Vec::new());
    (0..4).try_for_each(|_| client.submit(&us.to_le_bytes()).map(drop))?;
    let (mut short, mut sent) = (client.submit(b"")?, began);
    while began.elapsed() < Duration::from_millis(100) || took.is_empty() {
        match client.poll().map(|done| done.result.map(|_| done.ticket)).transpose()? {
            None => std::thread::yield_now(),
            Some(ticket) if ticket == short => {
                took.push(sent.elapsed().as_secs_f64() * 1e6);
                (short, sent) = (client.submit(b"")?, Instant::now());
            }
            Some(_) => (ended, _) = (ended + 1, client.submit(&us.to_le_bytes())?),
        }
    }
    took.sort_unstable_by(f64::total_cmp);
    server.stop();
    Ok((took[took.len() / 2], f64::from(ended) / began.elapsed().as_secs_f64()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for us in [1, 3, 10, 120] {
        let (dispatch, worker) = (measure(us, 0)?, measure(us, 1)?);
        println!(
            "beside RPCs of {us} µs a short one takes {:.1} µs by dispatch threads, {:.1} µs by",
            dispatch.0, worker.0
        );
        println!("worker threads; of those {:.0} and {:.0} end a second", dispatch.1, worker.1);
    }
    Ok(())
}
