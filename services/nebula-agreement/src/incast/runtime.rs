//! The same senders and messages over loopback UDP: one thread polls all clients of a server in
//! this process.

use nebula::{CallError, Client, ClientConfig, Queueing, Reply, Server, ServerConfig, SubmitError};
use nebula_nic::{Span, Timestamp};
use nebula_sim::Interval;
use nebula_sim::incast::{Incast, IncastEstimate};
use nebula_sys::clock::Clock;
use nebula_workload::{Rng, Seed};

use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;
use nebula_ui::signal;

/// The server's buffer is larger by this ratio: the incomplete messages of one host, as all clients
/// here are, may hold 7 parts in 16 of it.
const ONE_HOST: (u64, u64) = (16, 7);
/// Intervals are over these parts of the measurement.
const PARTS: u32 = 10;
/// Before the measurement.
const WARM_UP_PARTS: u32 = 2;
/// Both halves may differ in goodput by this share.
const SETTLED: f64 = 0.05;

pub(super) fn measure(incast: &Incast, time: Span, seed: Seed) -> Result<IncastEstimate, Failure> {
    let config = ServerConfig::default()
        .rpc_bytes_max(incast.long_bytes)
        .reply_bytes_max(64)
        .queueing(Queueing::Unbounded { recv_buffer_bytes: u64::from(incast.buffer_bytes) * ONE_HOST.0 / ONE_HOST.1 })
        .inline(true);
    let server = Server::bind("udp://127.0.0.1:0")
        .config(config)
        .serve(|_: &[u8], reply: &mut Reply<'_>| {
            reply.write(REPLY);
        })
        .or_fail()?;
    let client = ClientConfig::default().flow(incast.flow).slots(2).reply_bytes_max(64);
    let mut senders = Vec::with_capacity(incast.senders.into());
    for number in 0..u64::from(incast.senders) {
        let client = Client::connect_with(server.endpoint(), client.clone()).or_fail()?;
        senders.push(Sender::new(client, seed.replica((1 << 40) + number).stream("incast"), incast));
    }
    let request = vec![0x5A; incast.long_bytes as usize];
    let clock = Clock::new();
    let now = || Timestamp::from_ps(clock.now_ps());
    let mut parts = Vec::with_capacity(PARTS as usize);
    for part in 0..PARTS + WARM_UP_PARTS {
        let opened = now();
        let mut tally = Part::default();
        while now() < opened + time / u64::from(PARTS) {
            for sender in &mut senders {
                sender.turn(now(), incast, &request, &mut tally)?;
            }
            signal::check()?;
        }
        tally.span = now() - opened;
        if part >= WARM_UP_PARTS {
            parts.push(tally);
        }
    }
    drop(senders);
    server.stop();
    Ok(estimate(&mut parts))
}

const REPLY: &[u8] = b"taken in";

#[derive(Debug, Default)]
struct Part {
    span: Span,
    bytes: u64,
    answered: u64,
    nacked: u64,
    lost: u64,
    /// Of answered messages.
    short: Vec<Span>,
    long: Vec<Span>,
}

fn estimate(parts: &mut [Part]) -> IncastEstimate {
    for part in &mut *parts {
        part.short.sort_unstable();
        part.long.sort_unstable();
    }
    let over = |figure: &dyn Fn(&Part) -> f64| Interval::of_positive(&parts.iter().map(figure).collect::<Vec<_>>());
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let gbps = |part: &Part| part.bytes as f64 * 8e3 / (part.span.as_ps() as f64).max(1.0);
    let (first, second) = parts.split_at(parts.len() / 2);
    let mean = |parts: &[Part]| parts.iter().map(gbps).sum::<f64>() / parts.len().max(1) as f64;
    let (first, second) = (mean(first), mean(second));
    IncastEstimate {
        goodput_gbps: over(&gbps),
        short_p99_ps: over(&|part| p99_ps(&part.short)),
        long_p99_ps: over(&|part| p99_ps(&part.long)),
        nacked: over(&|part| share(part.nacked, part.nacked + part.answered + part.lost)),
        // The kernel does not report it.
        dropped: None,
        lost: over(&|part| share(part.lost, part.answered + part.lost)),
        is_settled: (first - second).abs() <= SETTLED * first.max(second),
    }
}

/// Of sorted times.
fn p99_ps(times: &[Span]) -> f64 {
    let rank = (times.len() * 99).div_ceil(100);
    rank.checked_sub(1).and_then(|rank| times.get(rank)).map_or(0.0, |time| time.as_ps() as f64)
}

struct Sender {
    client: Client,
    draws: Rng,
    is_short: bool,
    begun: Option<Timestamp>,
    /// The message is to be submitted from then on.
    due: Option<Timestamp>,
}

impl Sender {
    fn new(client: Client, mut draws: Rng, incast: &Incast) -> Self {
        let is_short = draws.unit() < incast.short_share;
        Self { client, draws, is_short, begun: None, due: Some(Timestamp::ZERO) }
    }

    fn turn(&mut self, now: Timestamp, incast: &Incast, request: &[u8], part: &mut Part) -> Result<(), Failure> {
        let bytes = if self.is_short { incast.short_bytes } else { incast.long_bytes };
        if self.due.is_some_and(|due| due <= now) {
            self.begun.get_or_insert(now);
            match self.client.submit(&request[..bytes as usize]) {
                Ok(_) => self.due = None,
                // The window is full: the next turn tries again.
                Err(SubmitError::Full) => {}
                Err(error) => return Err(Failure::fault(error)),
            }
        }
        let Some(ended) = self.client.poll().map(|done| done.result.map(|_| ())) else { return Ok(()) };
        match ended {
            Ok(()) => {
                let time = now - self.begun.unwrap_or(now);
                if self.is_short {
                    part.short.push(time)
                } else {
                    part.long.push(time)
                }
                part.bytes += u64::from(bytes);
                part.answered += 1;
            }
            Err(CallError::Nack { .. }) => {
                part.nacked += 1;
                self.due = Some(now + incast.retry * self.draws.below(2048) / 1024);
                return Ok(());
            }
            Err(CallError::TimedOut | CallError::Stale) => part.lost += 1,
            Err(error) => return Err(Failure::fault(error)),
        }
        self.is_short = self.draws.unit() < incast.short_share;
        (self.begun, self.due) = (None, Some(now));
        Ok(())
    }
}
