//! NACKs of one server and of four that a client chooses from by power of two choices, at the same
//! load a server.
//!
//! A handler sleeps in its server's pool of one thread, so servers share no core. Each service
//! takes an exponential time of 1 ms on average from the planned end of the one before, or from
//! when the RPC was sent: a thread that wakes late does not make its server slower. Arrivals are
//! Poisson, from a seed.

use crate::Failure;
use crate::row::{Bound, against, plain};
use nebula::{
    Balance, Class, Client, ClientConfig, Description, Reply, RunningServer, Server, ServerConfig, Service, Span,
    SubmitError,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// RPCs that a server's pool takes on, waiting and running.
const HELD_MAX: u16 = 20;
const SERVICE: Duration = Duration::from_millis(1);
const SERVERS: u32 = 4;
/// RPCs of each server, and the share of what it takes.
const RPCS: u32 = 10_000;
const LOAD: f64 = 0.9;
/// The most NACKs of four servers, as a share of one server's.
const MOST: f64 = 0.2;
/// How long nothing may end before this gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Numbers between 0 and 1, and exponential times.
struct Draw(AtomicU64);

impl Draw {
    /// SplitMix64.
    fn uniform(&self) -> f64 {
        let mut word = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&self, mean: Duration) -> Duration {
        mean.mul_f64(-(1.0 - self.uniform()).ln())
    }
}

/// Serves one RPC after the other, each for its own time.
struct Sleeps {
    draw: Draw,
    began: Instant,
    /// When the last one was to end, in nanoseconds since it began.
    ended_ns: AtomicU64,
}

impl Service for Sleeps {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let sent_ns = request.try_into().map_or(0, u64::from_le_bytes);
        let service = self.draw.exponential(SERVICE);
        // The pool has one thread.
        let start_ns = self.ended_ns.load(Relaxed).max(sent_ns);
        let end_ns = start_ns + u64::try_from(service.as_nanos()).unwrap_or(0);
        self.ended_ns.store(end_ns, Relaxed);
        std::thread::sleep((self.began + Duration::from_nanos(end_ns)).saturating_duration_since(Instant::now()));
        reply.write(request);
    }

    fn describe(&self) -> Description {
        Description::default().classes(|_| Class::Worker)
    }
}

fn serve(transport: &str, count: usize, began: Instant) -> Result<Vec<RunningServer>, Failure> {
    let config = ServerConfig::default().inline(true).slo(Span::from_secs(5)).service_mean(Span::from_us(5));
    let config = config.pool_threads(1).pool_max(HELD_MAX);
    let serve = |number: usize| {
        let name = match transport {
            "udp" => "udp://127.0.0.1:0".to_owned(),
            _ => format!("shm://bench-choices-{number}-{}", std::process::id()),
        };
        let draw = Draw(AtomicU64::new(number as u64 + 1));
        let service = Sleeps { draw, began, ended_ns: AtomicU64::new(0) };
        Ok(Server::bind(&name).config(config.clone()).serve(service)?)
    };
    (0..count).map(serve).collect()
}

fn connect(servers: &[RunningServer]) -> Result<Client, Failure> {
    let names: Vec<_> = servers.iter().map(|server| server.endpoint().to_string()).collect();
    let config = ClientConfig::default().slots(256).balance(Balance::PowerOfTwo);
    Ok(Client::connect_with(&names.join(","), config)?)
}

/// Sleeps a moment, unless nothing has ended for too long.
fn rest(last: &Instant) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_micros(100));
    if last.elapsed() > PATIENCE { Err("the server does not answer".into()) } else { Ok(()) }
}

/// NACKs an RPC of so many servers, each offered [`LOAD`].
fn nacked(transport: &str, count: u32) -> Result<f64, Failure> {
    let began = Instant::now();
    let servers = serve(transport, count as usize, began)?;
    let mut client = connect(&servers)?;
    let (draw, rpcs) = (Draw(AtomicU64::new(99)), RPCS * count);
    let gap = SERVICE.div_f64(LOAD * f64::from(count));
    let (mut due, mut sent, mut ended) = (Instant::now(), 0, 0);
    let mut last = due;
    while ended < rpcs {
        while sent < rpcs && due <= Instant::now() {
            let sent_ns = u64::try_from(began.elapsed().as_nanos())?;
            match client.submit(&sent_ns.to_le_bytes()) {
                Ok(_) => {}
                // Open loop: what the client itself has no room for counts as refused.
                Err(SubmitError::Full) => ended += 1,
                Err(error) => return Err(error.into()),
            }
            sent += 1;
            due += draw.exponential(gap);
        }
        client.flush();
        while client.poll().is_some() {
            (ended, last) = (ended + 1, Instant::now());
        }
        rest(&last)?;
    }
    let nacks: u64 = servers.iter().filter_map(RunningServer::pool).map(|pool| pool.refused).sum();
    Ok(nacks as f64 / f64::from(rpcs))
}

pub fn run() -> Result<(), Failure> {
    for transport in ["shm", "udp"] {
        let [one, four] = [nacked(transport, 1)?, nacked(transport, SERVERS)?];
        let base = format!("NACKs an RPC, one server, {transport}");
        plain(&base, 100.0 * one, "%");
        let what = format!("NACKs an RPC, two choices of {SERVERS} servers, {transport}");
        against(&what, 100.0 * four, "%", (&base, 100.0 * one), Some(Bound::AtMost(MOST)));
    }
    Ok(())
}
