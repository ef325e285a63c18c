//! A server with 10,000 clients beside one with 16: its memory, and its core's time an RPC.
//!
//! Both are sent the same RPCs at the same times, in bursts of one RPC from each of 16 clients; only who sends them differs. The server
//! sleeps between bursts, so its core's time is what the RPCs cost.

use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use nebula::{Client, ClientConfig, IdlePolicy, Reply, ServerConfig, Span};
use nebula_sys::clock::Clock;
use std::time::Duration;

const FEW: usize = 16;
const MANY: usize = 10_000;
/// Clients that send at a time.
const BURST: usize = 16;
/// Bursts that are counted, and before them those by which every client has called once.
const BURSTS: usize = 4_000;
const WARM_UP: usize = MANY / BURST;
/// Between the beginnings of two bursts, in picoseconds: more than a burst takes.
const INTERVAL_PS: u64 = 300_000_000;
/// Descriptors that the process needs beside one a client.
const OTHER_FILES: u64 = 200;
const ROUNDS: usize = 3;
/// The longest that one round may take; it takes three seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Measures and prints.
pub fn run() -> Result<(), Failure> {
    child::raise_file_limit(MANY as u64 + OTHER_FILES)?;
    child::pin_client()?;
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        few.push(within(LIMIT, "16 clients", || measure(FEW))?);
        many.push(within(LIMIT, "10,000 clients", || measure(MANY))?);
    }
    let (few, many) = (Cost::median(&few), Cost::median(&many));
    plain("server over UDP, resident memory with 16 clients", few.resident_bytes, "B");
    let yardstick = ("with 16 clients", few.resident_bytes);
    let what = "server over UDP, resident memory with 10,000 clients";
    against(what, many.resident_bytes, "B", yardstick, Some(Bound::AtMost(1.1)));
    plain("server over UDP, its core's time an RPC with 16 clients", few.core_ns, "ns");
    let yardstick = ("with 16 clients", few.core_ns);
    let what = "server over UDP, its core's time an RPC with 10,000 clients";
    against(what, many.core_ns, "ns", yardstick, Some(Bound::AtMost(1.1)));
    Ok(())
}

/// What a server costs.
#[derive(Clone, Copy)]
struct Cost {
    resident_bytes: f64,
    core_ns: f64,
}

impl Cost {
    fn median(costs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| crate::measure::median(costs.iter().map(figure).collect());
        Self { resident_bytes: of(|cost| cost.resident_bytes), core_ns: of(|cost| cost.core_ns) }
    }
}

fn measure(clients: usize) -> Result<Cost, Failure> {
    let endpoint = format!("udp://{}", child::unused_address()?);
    let server = Server::start(&["serve-udp", "sleepy-echo", &endpoint])?;
    let connect = || Ok(Client::connect_with(&endpoint, ClientConfig::default())?);
    let mut clients = (0..clients).map(|_| connect()).collect::<Result<Vec<_>, Failure>>()?;
    let mut next = 0;
    bursts(&mut clients, &mut next, WARM_UP)?;
    let before = server.core_ns()?;
    bursts(&mut clients, &mut next, BURSTS)?;
    let core_ns = (server.core_ns()? - before) as f64 / (BURSTS * BURST) as f64;
    Ok(Cost { resident_bytes: server.resident_bytes()? as f64, core_ns })
}

/// Bursts from the clients in turn, from the `next` one on.
fn bursts(clients: &mut [Client], next: &mut usize, count: usize) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now_ps();
    for burst in 0..count as u64 {
        while clock.now_ps() - start < burst * INTERVAL_PS {}
        let senders = *next..*next + BURST;
        let count = clients.len();
        for sender in senders.clone() {
            let client = &mut clients[sender % count];
            client.submit(&[7; 64])?;
            client.flush();
        }
        for sender in senders {
            let client = &mut clients[sender % count];
            while client.outstanding() > 0 {
                if let Some(done) = client.poll() {
                    done.result?;
                }
            }
        }
        *next += BURST;
    }
    Ok(())
}

/// The server: engine and worker on one core, asleep when there is nothing to do.
pub fn serve(endpoint: &str) -> Result<(), Failure> {
    let config = ServerConfig {
        inline: true,
        idle: IdlePolicy::Block,
        pin: vec![child::server_core()],
        slo: Span::from_ms(1),
        ..ServerConfig::default()
    };
    let server = nebula::Server::bind(endpoint).config(config);
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    child::ready()?;
    server.join();
    Ok(())
}
