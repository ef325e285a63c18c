//! Instructions of an echo over shared memory, client and server together, in a program that calls
//! Nebula from several places, with slots and rings as they come. The compiler moves a function
//! into its only caller more readily than into one of several.
//!
//! ```text
//! sites_instructions RPCS BATCH
//! ```
//!
//! As `echo_instructions`: count within [`exchange`] alone.

use nebula::{Client, Reply, Server, ServerConfig, Span, SubmitError, Worker};
use std::error::Error;
use std::hint::black_box;

const LINE: [u8; 48] = [7; 48];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map_while(|word| word.parse().ok()).collect();
    let [rpcs, batch] = *numbers.as_slice() else { return Err("usage: sites_instructions RPCS BATCH".into()) };
    let name = format!("shm://sites-{}", std::process::id());
    // Inline, as a server that serves by itself is here too. The SLO is long, because an RPC takes
    // fifty times as long here.
    let config = ServerConfig::default().inline(true).slo(Span::from_ms(100));
    let (server, mut workers) = Server::bind(&name).config(config).open()?;
    let mut client = Client::connect(&name)?;
    all_places(&mut client, &mut workers[0], 33, batch)?;
    exchange(&mut client, &mut workers[0], rpcs / batch, batch)?;
    server.stop();
    Ok(())
}

/// Callgrind counts within this function.
#[inline(never)]
fn exchange(client: &mut Client, worker: &mut Worker, rounds: usize, batch: usize) -> Result<(), Box<dyn Error>> {
    all_places(client, worker, rounds, batch)
}

/// One of the three places in turn.
#[inline(never)]
fn all_places(client: &mut Client, worker: &mut Worker, rounds: usize, batch: usize) -> Result<(), Box<dyn Error>> {
    let request = vec![7; LINE.len()];
    for round in 0..black_box(rounds) {
        match round % 3 {
            0 => constant(client, worker, batch)?,
            1 => slice(client, worker, batch, black_box(&LINE))?,
            _ => all(client, worker, batch, &request)?,
        }
    }
    Ok(())
}

fn turn(worker: &mut Worker) {
    worker.turn(&|request: &[u8], reply: &mut Reply<'_>| reply.write(request));
}

#[inline(never)]
fn constant(client: &mut Client, worker: &mut Worker, batch: usize) -> Result<(), Box<dyn Error>> {
    for _ in 0..batch {
        client.submit(&LINE)?;
    }
    let mut done = 0;
    while done < batch {
        turn(worker);
        while let Some(completion) = client.poll() {
            completion.result?;
            done += 1;
        }
    }
    Ok(())
}

#[inline(never)]
fn slice(client: &mut Client, worker: &mut Worker, batch: usize, request: &[u8]) -> Result<(), Box<dyn Error>> {
    for _ in 0..batch {
        client.submit(request)?;
    }
    let mut bytes = 0;
    while bytes < batch * request.len() {
        turn(worker);
        while let Some(completion) = client.poll() {
            bytes += completion.result?.len();
        }
    }
    Ok(())
}

#[inline(never)]
fn all(client: &mut Client, worker: &mut Worker, batch: usize, request: &[u8]) -> Result<(), SubmitError> {
    (0..batch).try_for_each(|_| client.submit(request).map(drop))?;
    let mut done = 0;
    while done < batch {
        turn(worker);
        client.take_all(|completion| done += usize::from(completion.result.is_ok()));
    }
    Ok(())
}
