//! The run: an ordered store on one core, whose handler is timed, and a client on another that sends in an open loop.

use std::collections::HashMap;
use std::sync::Arc;

use nebula::{Client, ClientConfig, IdlePolicy, Queueing, Reply, RunningServer, Server, ServerConfig, Service, Ticket};
use nebula_kvs::protocol as key_value;
use nebula_nic::{Policy, Span};
use nebula_ordered::OrderedStore;
use nebula_ordered::protocol::Request;
use nebula_sim::Interval;
use nebula_sys::affinity::{allowed_cores, pin_to};
use nebula_sys::clock::Clock;
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_workload::{Rng, Seed};

use super::setup::{KINDS, Setup};
use crate::ordered_service::OrderedService;
use crate::output::{self, Failure};
use crate::signal;

/// Parts of a run that intervals are made of.
pub(super) const PARTS: usize = 10;
/// Bytes of a value.
const VALUE_BYTES: usize = 8;
/// RPCs that are sent one after the other to learn how long handlers take.
const FIRST: u64 = 20_000;
/// The most RPCs of one run.
const RPCS_MAX: usize = 1 << 24;

/// What was seen.
pub(super) struct Measured {
    pub(super) rate_rps: f64,
    /// Handler times, by type.
    pub(super) services: [Vec<Span>; 2],
    pub(super) p99_us: [Interval; 2],
}

impl Measured {
    /// The mean handler time of a type.
    pub(super) fn mean(&self, kind: usize) -> Span {
        mean(&self.services[kind])
    }
}

fn mean(services: &[Span]) -> Span {
    Span::from_ps(services.iter().map(|service| service.as_ps()).sum::<u64>() / services.len().max(1) as u64)
}

/// Handler times, in ticks, with the type in the lowest bit. One worker writes them.
struct Times {
    all: Box<[AtomicU64]>,
    taken: AtomicU64,
}

impl Times {
    fn new() -> Self {
        Self { all: (0..RPCS_MAX).map(|_| AtomicU64::new(0)).collect(), taken: AtomicU64::new(0) }
    }

    fn note(&self, ticks: u64, is_scan: bool) {
        let taken = self.taken.load(Ordering::Relaxed);
        if let Some(place) = usize::try_from(taken).ok().and_then(|taken| self.all.get(taken)) {
            place.store(ticks << 1 | u64::from(is_scan), Ordering::Relaxed);
        }
        // Release: a thread that reads the count reads the times too.
        self.taken.store(taken + 1, Ordering::Release);
    }

    /// Forgets all, and returns what there was, by type.
    fn take(&self, clock: &Clock) -> [Vec<Span>; 2] {
        let taken = usize::try_from(self.taken.swap(0, Ordering::Acquire)).unwrap_or(RPCS_MAX).min(RPCS_MAX);
        let mut services = [Vec::new(), Vec::new()];
        for time in &self.all[..taken] {
            let time = time.load(Ordering::Relaxed);
            services[usize::from(time & 1 == 1)].push(Span::from_ps(clock.ps(time >> 1)));
        }
        services
    }
}

/// The store's handler, timed.
struct Timed {
    service: OrderedService,
    times: Arc<Times>,
    clock: Clock,
}

impl Service for Timed {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let begun = self.clock.ticks();
        self.service.serve(request, reply);
        let is_scan = matches!(Request::decode(request), Ok(Request::Scan { .. }));
        self.times.note(self.clock.ticks().saturating_sub(begun), is_scan);
    }
}

/// A server with its pairs, on one core, and the client's core.
pub(super) struct Stage {
    server: RunningServer,
    times: Arc<Times>,
    clock: Clock,
    /// RPCs a second that keep the core busy.
    capacity_rps: f64,
}

/// The server's core and the client's.
fn cores() -> Result<[usize; 2], Failure> {
    match allowed_cores()[..] {
        [client, .., server] => Ok([server, client]),
        _ => Err(Failure::fault("the run needs two cores: one for the server, one for the client")),
    }
}

impl Stage {
    /// Starts the server, stores the pairs, and learns how long handlers take.
    ///
    /// # Errors
    ///
    /// A fault of the server or the client.
    pub(super) fn set(setup: &Setup) -> Result<Self, Failure> {
        let [server_core, client_core] = cores()?;
        let store = OrderedStore::new(u64::MAX);
        let bar = output::bar("storing {bar:40} {pos} of {len} pairs", Some(setup.keys));
        for key in 0..setup.keys {
            store.set(&key.to_be_bytes(), &[7; VALUE_BYTES]).map_err(Failure::fault)?;
            if key % 10_000 == 0 {
                bar.set_position(key);
                signal::check()?;
            }
        }
        bar.finish_and_clear();
        let (times, clock) = (Arc::new(Times::new()), Clock::new());
        let service = Timed { service: OrderedService::new(store), times: times.clone(), clock };
        let mut config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).policy(Policy::SingleQueue);
        config = config.pin([server_core]).slo(Span::from_ms(100));
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 64 << 20 };
        let name = format!("shm://demo-scans-{}", std::process::id());
        let server = Server::bind(&*name).config(config).serve(service).map_err(Failure::fault)?;
        pin_to(client_core).map_err(Failure::fault)?;
        let mut stage = Self { server, times, clock, capacity_rps: 0.0 };
        stage.capacity_rps = stage.capacity(setup)?;
        Ok(stage)
    }

    fn client(&self, setup: &Setup) -> Result<Client, Failure> {
        let reply_bytes = u32::from(setup.scan_items) * 32 + 64;
        let config = ClientConfig::default().slots(4096).reply_bytes_max(reply_bytes);
        Client::connect_with(self.server.endpoint().clone(), config).map_err(Failure::fault)
    }

    /// The rate at which handlers take all of the core.
    fn capacity(&self, setup: &Setup) -> Result<f64, Failure> {
        let (mut client, mut draw) = (self.client(setup)?, Draw::new(setup, u64::MAX));
        for _ in 0..FIRST {
            client.call(draw.next().1).map_err(Failure::fault)?;
        }
        let services = self.times.take(&self.clock).concat();
        Ok(1.0 / mean(&services).as_secs_f64())
    }

    /// Offers `load` of what the core can serve.
    ///
    /// # Errors
    ///
    /// A fault of the client, and RPCs beyond those that can be noted.
    pub(super) fn measure(&self, setup: &Setup, load: f64) -> Result<Measured, Failure> {
        let rate_rps = load * self.capacity_rps;
        if rate_rps * setup.duration.as_secs_f64() > RPCS_MAX as f64 * 0.9 {
            return Err(Failure::bad_input("these are too many RPCs to note each: give a shorter --duration"));
        }
        let latencies = self.drive(setup, rate_rps)?;
        let p99 = |kind: usize| {
            let of_parts = latencies.iter().map(|part| p99_us(&part[kind]));
            Interval::of_positive(&of_parts.collect::<Vec<_>>())
        };
        let p99_us = [p99(0), p99(1)];
        Ok(Measured { rate_rps, services: self.times.take(&self.clock), p99_us })
    }

    /// Latencies in picoseconds from when an RPC was to be sent, by part of the run and by type.
    fn drive(&self, setup: &Setup, rate_rps: f64) -> Result<Vec<[Vec<u64>; 2]>, Failure> {
        let mut client = self.client(setup)?;
        let mut draw = Draw::new(setup, rate_rps.to_bits());
        let (clock, end_ps, gap_ps) = (&self.clock, setup.duration.as_ps(), 1e12 / rate_rps);
        let mut parts = vec![[Vec::new(), Vec::new()]; PARTS];
        let mut pending: HashMap<Ticket, (u64, usize)> = HashMap::with_capacity(4096);
        let begun_ps = clock.now_ps();
        let mut due = draw.gap(gap_ps);
        while due < end_ps || !pending.is_empty() {
            let now = clock.now_ps() - begun_ps;
            if due <= now && due < end_ps && pending.len() < 4000 {
                let (kind, request) = draw.next();
                if let Ok(ticket) = client.submit(request) {
                    pending.insert(ticket, (due, kind));
                    due += draw.gap(gap_ps);
                }
            }
            while let Some(done) = client.poll() {
                let Some((sent, kind)) = pending.remove(&done.ticket) else { continue };
                done.result.map_err(Failure::fault)?;
                let part = usize::try_from(sent * PARTS as u64 / end_ps).unwrap_or(PARTS).min(PARTS - 1);
                parts[part][kind].push((clock.now_ps() - begun_ps).saturating_sub(sent));
            }
            if signal::has_come() || now > 10 * end_ps {
                break;
            }
        }
        Ok(parts)
    }
}

fn p99_us(latencies: &[u64]) -> f64 {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * 99 / 100).map_or(0.0, |&ps| ps as f64 / 1e6)
}

/// Draws requests and the times between them.
struct Draw {
    rng: Rng,
    scans: f64,
    items: u16,
    keys: u64,
    request: Vec<u8>,
}

impl Draw {
    fn new(setup: &Setup, stream: u64) -> Self {
        let rng = Seed(setup.seed).replica(stream).stream("demo scans");
        Self { rng, scans: setup.scans, items: setup.scan_items, keys: setup.keys, request: Vec::new() }
    }

    /// The type of the next request, and its bytes.
    fn next(&mut self) -> (usize, &[u8]) {
        let from = self.rng.below(self.keys).to_be_bytes();
        let kind = usize::from(self.rng.unit() < self.scans);
        let request = match KINDS[kind] {
            "scan" => Request::Scan { from: &from, items: self.items },
            _ => Request::Pair(key_value::Request::Get { key: &from }),
        };
        self.request.resize(request.encoded_bytes(), 0);
        // It has just that length.
        let _ = request.encode_into(&mut self.request);
        (kind, &self.request)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some microseconds")]
    fn gap(&mut self, mean_ps: f64) -> u64 {
        (self.rng.exponential() * mean_ps) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handler_times_are_taken_by_type_once() {
        let (times, clock) = (Times::new(), Clock::new());
        for (ticks, is_scan) in [(100, false), (9000, true), (300, false)] {
            times.note(ticks, is_scan);
        }
        let [gets, scans] = times.take(&clock);
        assert_eq!(
            (gets, scans),
            (vec![Span::from_ps(clock.ps(100)), Span::from_ps(clock.ps(300))], vec![Span::from_ps(clock.ps(9000))])
        );
        assert!(times.take(&clock).concat().is_empty());
    }
}
