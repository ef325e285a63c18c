//! NACKs of one server, and of four that a client chooses from by power of two choices, at the same
//! load a server: over rings or sockets.
//!
//! ```text
//! cargo bench -p nebula --bench two_choices -- [shm|udp] [RPCS] [LOAD]
//! ```
//!
//! RPCS are those of one server, 10,000 unless given; LOAD is the share of what a server takes, 0.9
//! unless given. A handler sleeps in its server's pool of one thread, which takes on 20: so servers
//! share no core. Each service takes an exponential time of 1 ms on average from when the one
//! before was to end, or the RPC was sent: so a thread that is woken late does not make its server
//! slower, and other work of the machine matters little. Arrivals are Poisson, from a seed.

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
const SERVERS: u32 = 4;
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

    fn has_long(&self) -> bool {
        true
    }

    fn class(&self, _: &[u8]) -> Class {
        Class::Worker
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

/// What was refused.
struct Refusals {
    rpcs: u32,
    /// NACKs of the servers.
    nacks: u64,
    /// RPCs that ended with one.
    failed: u32,
}

/// Sends `rpcs` to each of so many servers, at `load` of what each takes.
fn offer(transport: &str, count: u32, rpcs: u32, load: f64) -> Result<Refusals, Failure> {
    let began = Instant::now();
    let servers = serve(transport, count as usize, began)?;
    let mut client = connect(&servers)?;
    let (draw, rpcs) = (Draw(AtomicU64::new(99)), rpcs * count);
    let gap = SERVICE.div_f64(load * f64::from(count));
    let (mut due, mut sent, mut ended, mut failed) = (Instant::now(), 0, 0, 0);
    let mut last = due;
    while ended < rpcs {
        while sent < rpcs && due <= Instant::now() {
            let sent_ns = u64::try_from(began.elapsed().as_nanos())?;
            match client.submit(&sent_ns.to_le_bytes()) {
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
    writeln!(out, "servers over {transport}://, each offered {load} of the 1,000 RPC/s that it takes")?;
    let mut shares = [0.0; 2];
    for (share, count) in shares.iter_mut().zip([1, SERVERS]) {
        let Refusals { rpcs, nacks, failed } = offer(transport, count, rpcs, load)?;
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
