//! Instructions of an echo or a one-sided read over UDP, client and server together, without the
//! kernel's, for callgrind.
//!
//! ```text
//! udp_instructions RPCS BATCH [METRICS [READS]]
//! ```
//!
//! Datagrams go through memory, and the clock is advanced by 100 ns for each RPC: else all would be
//! timed by how slow callgrind is. Both sides take turns on one thread, `BATCH` RPCs at a time;
//! `METRICS` is 0 where nothing is sampled for the status page, and `READS` above 0 where one-sided
//! reads take the place of RPCs. Count within [`exchange`] alone:
//! `valgrind --tool=callgrind --toggle-collect='*exchange*'`. `cargo xtask bench instructions` does
//! that.

use nebula::net::{Environment, Route, Time, Wire};
use nebula::{Client, ClientConfig, IdlePolicy, Region, RegionId, Reply, Rights, Server, ServerConfig, Span, Worker};
use std::collections::VecDeque;
use std::error::Error;
use std::hint::black_box;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const REQUEST: [u8; 64] = [7; 64];
/// From one RPC to the next, in picoseconds.
const STEP_PS: u64 = 100_000;

type Queue = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// One end of a cable: datagrams that are sent here come out of the other end.
#[derive(Debug)]
struct Cable {
    local: SocketAddr,
    peer: SocketAddr,
    to: Queue,
    from: Queue,
    /// Buffers of datagrams that were visited.
    spare: Vec<Vec<u8>>,
}

impl Wire for Cable {
    fn local(&self) -> SocketAddr {
        self.local
    }

    fn datagram_bytes_max(&self) -> usize {
        65_507
    }

    fn send(&mut self, _: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        let mut to = self.to.lock().map_err(|_| io::ErrorKind::BrokenPipe)?;
        for datagram in bytes.chunks(segment) {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(datagram);
            to.push_back(buffer);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let mut from = self.from.lock().map_err(|_| io::ErrorKind::BrokenPipe)?;
        let count = from.len();
        for mut datagram in from.drain(..) {
            visit(self.peer.into(), &mut datagram);
            self.spare.push(datagram);
        }
        Ok(count)
    }

    fn wait(&mut self, _: Option<Duration>, _: Option<BorrowedFd<'_>>) -> io::Result<()> {
        Ok(())
    }
}

struct Pair {
    client: Client,
    worker: Worker,
    clock: Arc<AtomicU64>,
    /// Whether it reads, and sends no RPCs.
    reads: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map_while(|word| word.parse().ok()).collect();
    let (rpcs, batch, metrics, reads) = match *numbers.as_slice() {
        [rpcs, batch] => (rpcs, batch, true, false),
        [rpcs, batch, metrics] => (rpcs, batch, metrics > 0, false),
        [rpcs, batch, metrics, reads] => (rpcs, batch, metrics > 0, reads > 0),
        _ => return Err("usage: udp_instructions RPCS BATCH [METRICS [READS]]".into()),
    };
    let clock = Arc::new(AtomicU64::new(1 << 40));
    let [client_at, server_at] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let (there, back) = (Queue::default(), Queue::default());
    let environment = |local, peer, to: &Queue, from: &Queue, seed| Environment {
        wire: Box::new(Cable { local, peer, to: to.clone(), from: from.clone(), spare: Vec::new() }),
        time: Time::Manual(clock.clone()),
        entropy: [seed; 32],
    };
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).slo(Span::from_ms(10));
    let config = config.metrics(metrics);
    let (server, mut workers) = Server::bind("udp://127.0.0.1:2")
        .config(config)
        .register(&Region::create(REQUEST.len())?, Rights::READ)
        .open_over(environment(server_at, client_at, &back, &there, 1))?;
    let client_config = ClientConfig::default().slots(64).one_sided(reads);
    let client = Client::connect_over(server_at, environment(client_at, server_at, &there, &back, 2), client_config)?;
    let worker = workers.pop().ok_or("a worker")?;
    let mut pair = Pair { client, worker, clock, reads };
    // Once before it counts: the first of everything costs more, and there is the handshake.
    for _ in 0..200 {
        exchange_once(&mut pair, batch)?;
    }
    exchange(&mut pair, rpcs / batch, batch)?;
    server.stop();
    Ok(())
}

#[inline(never)]
fn exchange(pair: &mut Pair, rounds: usize, batch: usize) -> Result<(), Box<dyn Error>> {
    (0..black_box(rounds)).try_for_each(|_| exchange_once(pair, batch))
}

#[inline(always)]
fn exchange_once(Pair { client, worker, clock, reads }: &mut Pair, batch: usize) -> Result<(), Box<dyn Error>> {
    let request = black_box(&REQUEST);
    for _ in 0..batch {
        if *reads {
            client.read(RegionId(0), 0, 64)?;
        } else {
            client.submit(request)?;
        }
        clock.fetch_add(STEP_PS, Ordering::Relaxed);
    }
    let mut done = 0;
    while done < batch {
        client.flush();
        worker.turn(&|request: &[u8], reply: &mut Reply| reply.write(request));
        while let Some(completion) = client.poll() {
            completion.result?;
            done += 1;
        }
        clock.fetch_add(STEP_PS, Ordering::Relaxed);
    }
    Ok(())
}
