//! Instructions of an RPC of a generated service over shared memory, client and server together,
//! for callgrind.
//!
//! ```text
//! typed_instructions bytes|line|protobuf RPCS
//! ```
//!
//! `bytes` is the handler that is written by hand. Both sides take turns on one thread, 16 RPCs at
//! a time, so that no look finds nothing. Count within [`exchange`] alone:
//! `cargo xtask bench instructions` does.

use nebula::{Client, ClientConfig, IdlePolicy, Server, ServerConfig, Span, Worker};
use nebula_typed::Channel;
use std::error::Error;
use std::hint::black_box;
use typed_tests::echo::{EchoClient, EchoServer, LineMessage, ProtoMessage};
use typed_tests::echo_service::{BYTES, METHOD, Same, by_hand};

/// RPCs at a time.
const BATCH: usize = 16;
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (how, rounds) = match words.as_slice() {
        [how, rpcs] => (*how, rpcs.parse::<usize>()? / BATCH),
        _ => return Err("usage: typed_instructions bytes|line|protobuf RPCS".into()),
    };
    let name = format!("shm://count-typed-{}", std::process::id());
    // The SLO is long, because an RPC takes fifty times as long here, and none is to be refused for
    // that.
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).slo(Span::from_ms(100));
    let (server, mut workers) = Server::bind(&name).config(config).open()?;
    let worker = &mut workers[0];
    match how {
        "bytes" => count(&mut Bytes(Client::connect_with(&name, slots())?), worker, rounds)?,
        "line" => count(&mut Line(connect(&name, worker)?), worker, rounds)?,
        "protobuf" => {
            let message = ProtoMessage { key: 7, flags: 1, value: vec![7; 32] };
            count(&mut Protobuf(connect(&name, worker)?, message), worker, rounds)?;
        }
        _ => return Err(format!("{how} is none of bytes, line, protobuf").into()),
    }
    server.stop();
    Ok(())
}

fn slots() -> ClientConfig {
    ClientConfig::default().slots(64)
}

/// The client asks for the schema, so the server has to answer meanwhile. It is connected before
/// that: callgrind runs one thread at a time, and a worker that spins could keep the handshake from
/// its time.
fn connect(name: &str, worker: &mut Worker) -> Result<EchoClient, Box<dyn Error>> {
    let channel = Channel::connect_with(name, slots())?;
    let connecting = std::thread::spawn(move || EchoClient::over(channel));
    while !connecting.is_finished() {
        worker.turn(&EchoServer(Same));
        std::thread::yield_now();
    }
    Ok(connecting.join().map_err(|_| "the client panicked")??)
}

/// A client and the server's part of one thread.
trait Side {
    fn submit(&mut self) -> Result<(), Box<dyn Error>>;
    /// Whether an RPC has ended.
    fn poll(&mut self) -> Result<bool, Box<dyn Error>>;
    fn serve(worker: &mut Worker) -> usize {
        worker.turn(&EchoServer(Same))
    }
}

struct Bytes(Client);

impl Side for Bytes {
    #[inline(always)]
    fn submit(&mut self) -> Result<(), Box<dyn Error>> {
        let mut request = [7; BYTES];
        request[..METHOD.len()].copy_from_slice(&METHOD);
        self.0.submit(black_box(&request))?;
        Ok(())
    }

    #[inline(always)]
    fn poll(&mut self) -> Result<bool, Box<dyn Error>> {
        let Some(done) = self.0.poll() else { return Ok(false) };
        black_box(done.result?);
        Ok(true)
    }

    fn serve(worker: &mut Worker) -> usize {
        worker.turn(&by_hand)
    }
}

struct Line(EchoClient);

impl Side for Line {
    #[inline(always)]
    fn submit(&mut self) -> Result<(), Box<dyn Error>> {
        self.0.submit_line(&LineMessage { key: 7.into(), flags: 1.into(), value: black_box([7; 32]) })?;
        Ok(())
    }

    #[inline(always)]
    fn poll(&mut self) -> Result<bool, Box<dyn Error>> {
        let Some((_, reply)) = self.0.poll() else { return Ok(false) };
        black_box(&reply?);
        Ok(true)
    }
}

struct Protobuf(EchoClient, ProtoMessage);

impl Side for Protobuf {
    #[inline(always)]
    fn submit(&mut self) -> Result<(), Box<dyn Error>> {
        self.0.submit_proto(&self.1)?;
        Ok(())
    }

    #[inline(always)]
    fn poll(&mut self) -> Result<bool, Box<dyn Error>> {
        let Some((_, reply)) = self.0.poll() else { return Ok(false) };
        black_box(&reply?);
        Ok(true)
    }
}

/// Some rounds before it counts: the first of everything costs more.
fn count<S: Side>(side: &mut S, worker: &mut Worker, rounds: usize) -> Result<(), Box<dyn Error>> {
    (0..32).try_for_each(|_| round(side, worker))?;
    exchange(side, worker, rounds)
}

#[inline(never)]
fn exchange<S: Side>(side: &mut S, worker: &mut Worker, rounds: usize) -> Result<(), Box<dyn Error>> {
    // No closure: a function with this one's name in its own, called from here, would end the
    // count.
    for _ in 0..black_box(rounds) {
        round(side, worker)?;
    }
    Ok(())
}

#[inline(always)]
fn round<S: Side>(side: &mut S, worker: &mut Worker) -> Result<(), Box<dyn Error>> {
    (0..BATCH).try_for_each(|_| side.submit())?;
    let mut done = 0;
    while done < BATCH {
        S::serve(worker);
        while side.poll()? {
            done += 1;
        }
    }
    Ok(())
}
