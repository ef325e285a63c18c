//! The echo through the whole runtime (header, receive buffer, dispatch, reply) compared with the
//! bare ring.

use crate::Failure;
use crate::bare::{self, Bare};
use crate::child::{self, Server};
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use nebula::{Client, ClientConfig, IdlePolicy, Reply, ServerConfig, Span};

/// Of each side, alternating.
const ROUNDS: usize = 7;

pub struct Echo {
    client: Client,
    request: Vec<u8>,
    _server: Server,
}

impl Echo {
    /// Starts a server and connects to it, for requests of `bytes` bytes. Each measurement has its
    /// own server, because two polling servers would share a core.
    pub fn start(bytes: usize, slots: u32) -> Result<Self, Failure> {
        let name = format!("shm://bench-echo-{}", std::process::id());
        let server = Server::start(&["serve-echo", &name, &bytes.to_string()])?;
        let client = Client::connect_with(&name, ClientConfig::default().slots(slots))?;
        Ok(Self { client, request: vec![7; bytes], _server: server })
    }
}

impl Pipe for Echo {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        self.client.submit(&self.request).is_ok()
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            assert!(done.result.is_ok_and(|reply| reply.len() == self.request.len()), "the echo failed");
            taken += 1;
        }
        taken
    }
}

/// Client and server alternate on one thread, `batch` RPCs at a time: no poll is wasted, so
/// instructions can be counted.
pub fn count(bytes: usize, rpcs: u64, batch: u64) -> Result<(), Failure> {
    let name = format!("shm://bench-count-{}", std::process::id());
    let (server, mut workers) = nebula::Server::bind(&name).config(config(bytes).slo(COUNTED_SLO)).open()?;
    let mut client = Client::connect_with(&name, ClientConfig::default().slots(64))?;
    let request = vec![7; bytes];
    let serve = |request: &[u8], reply: &mut Reply| reply.write(request);
    for _ in 0..rpcs / batch {
        for _ in 0..batch {
            client.submit(&request)?;
        }
        let mut done = 0;
        while done < batch {
            workers[0].turn(&serve);
            while let Some(completion) = client.poll() {
                completion.result?;
                done += 1;
            }
        }
    }
    server.stop();
    Ok(())
}

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    for (what, bytes, lines) in [("a line of 64 B, header and 48 B payload", 48, 1), ("64 B payload", 64, 2)] {
        compare(what, bytes, lines)?;
    }
    Ok(())
}

/// Compares the best round of each side, since both have two modes: far apart, or chasing each
/// other through the ring. The spread has its own row.
fn compare(what: &str, bytes: usize, lines: usize) -> Result<(), Failure> {
    let baseline = format!("bare in-place ring, {lines} line(s) a slot");
    for outstanding in [1, 16, 64] {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(throughput(&mut Bare::start(lines)?, outstanding));
            ours.push(throughput(&mut Echo::start(bytes, bare::SLOTS as u32)?, outstanding));
        }
        let (name, name_bare) =
            (format!("echo, {what}, {outstanding} outstanding"), format!("{baseline}, {outstanding} outstanding"));
        plain(&name_bare, best(&bare), "M RPC/s");
        plain(&format!("{name_bare}, worst round"), worst(&bare), "M RPC/s");
        let bound = (outstanding == 64).then_some(Bound::AtLeast(0.8));
        against(&name, best(&ours), "M RPC/s", (&baseline, best(&bare)), bound);
        plain(&format!("{name}, worst round"), worst(&ours), "M RPC/s");
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(round_trip(&mut Bare::start(lines)?));
        ours.push(round_trip(&mut Echo::start(bytes, bare::SLOTS as u32)?));
    }
    let p50 = |times: &[(f64, f64)]| median(times.iter().map(|time| time.0).collect());
    let p99 = |times: &[(f64, f64)]| median(times.iter().map(|time| time.1).collect());
    plain(&format!("{baseline}, round trip p50, on {}", topology(p50(&bare))), p50(&bare), "ns");
    against(
        &format!("echo, {what}, round trip p50"),
        p50(&ours),
        "ns",
        (&baseline, p50(&bare)),
        Some(Bound::AtMost(1.25)),
    );
    against(&format!("echo, {what}, round trip p99"), p99(&ours), "ns", (&baseline, p99(&bare)), None);
    Ok(())
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

fn worst(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The place of the two processors, from the round trip of the bare ring.
fn topology(round_trip_ns: f64) -> &'static str {
    if round_trip_ns < THREADS_NS { "two threads of one core" } else { "two cores" }
}

/// Two threads of one core exchange a line within some 80 ns; two cores take more than twice as
/// long.
const THREADS_NS: f64 = 150.0;

/// Where instructions are counted an RPC takes fifty times as long, and none should be refused for
/// that.
const COUNTED_SLO: Span = Span::from_ms(10);

/// Engine and worker on one core; a slot of the ring just holds a request of `bytes` bytes.
fn config(bytes: usize) -> ServerConfig {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    ServerConfig::default().inline(true).idle(IdlePolicy::Spin).mtu_bytes(bytes).slo(Span::from_us(200))
}

pub fn serve(name: &str, bytes: &str) -> Result<(), Failure> {
    let config = config(bytes.parse()?).pin([child::server_core()]);
    let server = nebula::Server::bind(name).config(config);
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    child::ready()?;
    server.join()?;
    Ok(())
}
