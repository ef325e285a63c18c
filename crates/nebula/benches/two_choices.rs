//! NACKs of one server, and of four that a client chooses from by power of two choices, at the same load a server: over rings or sockets.
//!
//! ```text
//! cargo bench -p nebula --bench two_choices -- [shm|udp] [RPCS] [LOAD]
//! ```
//!
//! RPCS are those of one server, 10,000 unless given; LOAD is the share of what a server takes, 0.9 unless given. A handler sleeps for an exponential time of
//! 1 ms on average in its server's pool of one thread, which takes on 20: so servers share no core, and how fast this machine is does not matter. What a
//! server takes is measured first. Arrivals are Poisson, from a seed.

use nebula::{
    Balance, Class, Client, ClientConfig, Completion, Reply, RunningServer, Server, ServerConfig, Service, Span,
    SubmitError,
};
use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// RPCs that a server's pool takes on, waiting and running.
const HELD_MAX: u16 = 20;
const SERVICE: Duration = Duration::from_millis(1);
const SERVERS: usize = 4;
/// RPCs by which what a server takes is measured.
const MEASURED: u32 = 2_000;
/// How long nothing may end before this gives up.
const PATIENCE: Duration = Duration::from_secs(20);

type Failure = Box<dyn Error>;

/// Numbers between 0 and 1, and exponential times.
struct Draw(AtomicU64);

impl Draw {
    /// SplitMix64.
    fn uniform(&self) -> f64 {
        let mut word = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let share = ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64;
        share
    }

    fn exponential(&self, mean: Duration) -> Duration {
        mean.mul_f64(-(1.0 - self.uniform()).ln())
    }
}

struct Sleeps(Draw);

impl Service for Sleeps {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        std::thread::sleep(self.0.exponential(SERVICE));
        reply.write(request);
    }

    fn has_long(&self) -> bool {
        true
    }

    fn class(&self, _: &[u8]) -> Class {
        Class::Worker
    }
}

fn serve(transport: &str, count: usize) -> Result<Vec<RunningServer>, Failure> {
    let config = ServerConfig::default().inline(true).slo(Span::from_secs(5)).service_mean(Span::from_us(5));
    let config = config.pool_threads(1).pool_max(HELD_MAX);
    let serve = |number: usize| {
        let name = match transport {
            "udp" => "udp://127.0.0.1:0".to_owned(),
            _ => format!("shm://bench-choices-{number}-{}", std::process::id()),
        };
        let draw = Draw(AtomicU64::new(number as u64 + 1));
        Ok(Server::bind(&name).config(config.clone()).serve(Sleeps(draw))?)
    };
    (0..count).map(serve).collect()
}

fn connect(servers: &[RunningServer]) -> Result<Client, Failure> {
    let names: Vec<_> = servers.iter().map(|server| server.endpoint().to_string()).collect();
    let config = ClientConfig::default().slots(256).balance(Balance::PowerOfTwo);
    Ok(Client::connect_with(&names.join(","), config)?)
}

/// RPCs that a server answers in a second.
fn capacity(transport: &str) -> Result<f64, Failure> {
    let servers = serve(transport, 1)?;
    let mut client = connect(&servers)?;
    let (began, mut sent, mut ended) = (Instant::now(), 0, 0);
    let mut last = began;
    while ended < MEASURED {
        while sent < MEASURED && sent - ended < u32::from(HELD_MAX) / 2 {
            client.submit(b"one")?;
            sent += 1;
        }
        client.flush();
        while let Some(Completion { result, .. }) = client.poll() {
            result?;
            (ended, last) = (ended + 1, Instant::now());
        }
        rest(&last)?;
    }
    Ok(f64::from(MEASURED) / began.elapsed().as_secs_f64())
}

/// Sleeps a moment, unless nothing has ended for too long.
fn rest(last: &Instant) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_micros(100));
    if last.elapsed() > PATIENCE { Err("the server does not answer".into()) } else { Ok(()) }
}

/// What was refused.
struct Refusals {
    rpcs: u32,
    /// NACKs of the servers.
    nacks: u64,
    /// RPCs that ended with one.
    failed: u32,
}

/// Sends `rpcs` to each of so many servers, `rps` to each in a second.
fn offer(transport: &str, count: usize, rpcs: u32, rps: f64) -> Result<Refusals, Failure> {
    let servers = serve(transport, count)?;
    let mut client = connect(&servers)?;
    let (draw, rpcs) = (Draw(AtomicU64::new(99)), rpcs * u32::try_from(count)?);
    let gap = Duration::from_secs_f64(1.0 / (rps * count as f64));
    let (mut due, mut sent, mut ended, mut failed) = (Instant::now(), 0, 0, 0);
    let mut last = due;
    while ended < rpcs {
        while sent < rpcs && due <= Instant::now() {
            match client.submit(b"one") {
                Ok(_) => {}
                // Open loop: what the client itself has no room for counts as refused.
                Err(SubmitError::Full) => (ended, failed) = (ended + 1, failed + 1),
                Err(error) => return Err(error.into()),
            }
            sent += 1;
            due += draw.exponential(gap);
        }
        client.flush();
        while let Some(Completion { result, .. }) = client.poll() {
            failed += u32::from(result.is_err());
            (ended, last) = (ended + 1, Instant::now());
        }
        rest(&last)?;
    }
    let nacks = servers.iter().filter_map(RunningServer::pool).map(|pool| pool.refused).sum();
    Ok(Refusals { rpcs, nacks, failed })
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let transport = words.iter().map(String::as_str).find(|word| ["shm", "udp"].contains(word)).unwrap_or("shm");
    let rpcs = words.iter().find_map(|word| word.parse::<u32>().ok()).unwrap_or(10_000).max(100);
    let is_load = |load: &f64| (0.1..1.0).contains(load);
    let load = words.iter().filter_map(|word| word.parse().ok()).find(is_load).unwrap_or(0.9);
    let mut out = std::io::stdout();
    let rps = capacity(transport)?;
    writeln!(out, "a server over {transport}:// takes {rps:.0} RPC/s; offered {load} of that to each")?;
    let mut shares = [0.0; 2];
    for (share, count) in shares.iter_mut().zip([1, SERVERS]) {
        let Refusals { rpcs, nacks, failed } = offer(transport, count, rpcs, rps * load)?;
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let of_rpcs = nacks as f64 / f64::from(rpcs);
        *share = of_rpcs;
        let percent = 100.0 * of_rpcs;
        writeln!(
            out,
            "{count} server(s): {nacks} NACKs for {rpcs} RPCs ({percent:.2} %), {failed} RPCs refused in the end"
        )?;
    }
    let [one, four] = shares;
    writeln!(out, "NACKs a server, of those of one alone: {:.3} (0.2 asked)", four / one)?;
    Ok(())
}
