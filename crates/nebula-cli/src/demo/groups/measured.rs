//! The run: a server with two groups whose handlers sleep, and clients of each group that send in an open loop.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nebula::{
    Client, ClientConfig, MigrationConfig, Queueing, Reply, RunningServer, Server, ServerConfig, SubmitError,
};
use nebula_nic::Span;
use nebula_sim::Interval;
use nebula_workload::{Rng, Seed};

use super::setup::{CLIENTS, GROUPS, PERIOD, Setup};
use crate::output::{self, Failure};
use crate::signal;

/// Parts of a run that intervals are made of.
pub(super) const PARTS: usize = 10;
/// How long a client sleeps where it has nothing to do.
const NAP: Duration = Duration::from_micros(50);
/// Connections that are made to find clients of each group.
const CONNECTIONS_MAX: u32 = 64;
/// How long the last replies are waited for, in mean service times.
const LAST: u32 = 1000;

/// What was seen.
pub(super) struct Measured {
    /// Times of handlers.
    pub(super) services: Vec<Span>,
    pub(super) service_mean: Span,
    pub(super) rpcs: usize,
    pub(super) p99_ms: Interval,
    /// The share of RPCs beyond the SLO, in 0 to 1.
    pub(super) late: Interval,
    /// The share of RPCs that another group served.
    pub(super) migrated: f64,
}

/// One RPC: when it was to be sent, counted from the beginning, its latency, and what its handler took.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sent: Span,
    latency: Span,
    service: Span,
}

/// Runs it once.
///
/// # Errors
///
/// A fault of the server or a client.
pub(super) fn measure(setup: &Setup) -> Result<Measured, Failure> {
    let server = serve(setup)?;
    let clients = clients(&server)?;
    let name = if setup.waiting_max.is_some() { "with migration" } else { "without migration" };
    let bar =
        output::bar(&format!("{name} {{bar:40}} {{pos}} of {{len}} s"), Some(setup.duration.as_ns() / 1_000_000_000));
    let begun = Instant::now();
    let seen: Result<Vec<Vec<Seen>>, Failure> = std::thread::scope(|scope| {
        let drive = |(index, client)| scope.spawn(move || drive(setup, client, index, begun));
        let threads: Vec<_> = (0..).zip(clients).map(drive).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            bar.set_position(begun.elapsed().as_secs());
        }
        bar.finish_and_clear();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| Failure::fault("a client has panicked")).flatten()
        };
        threads.into_iter().map(join).collect()
    });
    let status = server.stop();
    Ok(Measured::of(setup, &seen?.concat(), status.migrated_in as f64 / status.freed.max(1) as f64))
}

thread_local! {
    /// Which worker this thread is, counted as they serve their first RPC.
    static WORKER: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A server whose handlers sleep for the nanoseconds that the request says, and answer with their own worker and how long it took.
fn serve(setup: &Setup) -> Result<RunningServer, Failure> {
    let mut config = ServerConfig::default().policy(format!("altocumulus:{GROUPS}").parse().map_err(Failure::fault)?);
    config = config.workers(setup.workers).slo(setup.slo()).service_mean(setup.service);
    // Nothing is refused, so that what is late is seen.
    config.queueing = Queueing::Unbounded { recv_buffer_bytes: 16 << 20 };
    config.migration = MigrationConfig::default().period(PERIOD).waiting_max(setup.waiting_max.unwrap_or(u32::MAX));
    let workers = Arc::new(AtomicU32::new(0));
    let handler = move |request: &[u8], reply: &mut Reply<'_>| {
        let begun = Instant::now();
        let own = WORKER.get().unwrap_or_else(|| workers.fetch_add(1, Ordering::Relaxed));
        WORKER.set(Some(own));
        let ns = request.try_into().map_or(0, u64::from_le_bytes);
        if ns > 0 {
            std::thread::sleep(Duration::from_nanos(ns));
        }
        reply.write(&own.to_le_bytes());
        reply.write(&u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX).to_le_bytes());
    };
    let name = format!("shm://demo-groups-{}", std::process::id());
    Server::bind(&*name).config(config).serve(handler).map_err(Failure::fault)
}

/// As many clients of each group as are wanted. What does not wait is served by the own group: by the lowest of its workers.
fn clients(server: &RunningServer) -> Result<Vec<Client>, Failure> {
    let mut of_groups: Vec<(u32, Vec<Client>)> = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let config = ClientConfig::default().slots(4096);
        let mut client = Client::connect_with(server.endpoint().clone(), config).map_err(Failure::fault)?;
        let reply = client.call(&0_u64.to_le_bytes()).map_err(Failure::fault)?;
        let worker = reply.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        match of_groups.iter_mut().find(|(of, _)| *of == worker) {
            Some((_, clients)) => clients.push(client),
            None => of_groups.push((worker, vec![client])),
        }
        of_groups.sort_by_key(|(_, clients)| std::cmp::Reverse(clients.len()));
        let has = |(index, wanted): (usize, &u16)| {
            of_groups.get(index).is_some_and(|(_, clients)| clients.len() >= usize::from(*wanted))
        };
        if CLIENTS.iter().enumerate().all(has) {
            let take = |((_, clients), wanted): ((u32, Vec<Client>), u16)| clients.into_iter().take(wanted.into());
            return Ok(of_groups.into_iter().zip(CLIENTS).flat_map(take).collect());
        }
    }
    Err(Failure::fault(format!("none of {CONNECTIONS_MAX} clients came to another group")))
}

/// Sends a client's share of the load in an open loop: latency counts from when an RPC was to be sent.
fn drive(setup: &Setup, mut client: Client, index: u64, begun: Instant) -> Result<Vec<Seen>, Failure> {
    let mut rng = Seed(setup.seed).replica(index).stream("demo groups");
    let gap_ns = 1e9 * f64::from(CLIENTS.iter().sum::<u16>()) / setup.rate_rps();
    let (mut due, mut due_ns) = (draw(&mut rng, gap_ns), draw(&mut rng, setup.service.as_ns() as f64));
    let (mut pending, mut seen) = (std::collections::HashMap::new(), Vec::new());
    let end_ns = setup.duration.as_ns();
    let give_up_ns = end_ns + setup.service.as_ns() * u64::from(LAST);
    loop {
        let now_ns = elapsed_ns(begun);
        let mut is_idle = true;
        while due <= now_ns && due < end_ns {
            match client.submit(&due_ns.max(1).to_le_bytes()) {
                Ok(ticket) => pending.insert(ticket, due),
                Err(SubmitError::Full) => break,
                Err(error) => return Err(Failure::fault(error)),
            };
            (due, due_ns) = (due + draw(&mut rng, gap_ns), draw(&mut rng, setup.service.as_ns() as f64));
        }
        while let Some(done) = client.poll() {
            is_idle = false;
            let sent = pending.remove(&done.ticket).unwrap_or(now_ns);
            let reply = done.result.map_err(Failure::fault)?;
            let service = reply.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let latency = Span::from_ns(elapsed_ns(begun).saturating_sub(sent));
            seen.push(Seen { sent: Span::from_ns(sent), latency, service: Span::from_ns(service) });
        }
        if due >= end_ns && pending.is_empty() || signal::has_come() {
            return Ok(seen);
        }
        if now_ns > give_up_ns {
            return Err(Failure::fault(format!("{} RPCs had no reply", pending.len())));
        }
        if is_idle {
            std::thread::sleep(NAP);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some milliseconds")]
fn draw(rng: &mut Rng, mean_ns: f64) -> u64 {
    (rng.exponential() * mean_ns) as u64
}

fn elapsed_ns(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The interval of a share, whose ends are shares.
pub(super) fn share_of(figures: &[f64]) -> Interval {
    let Interval { value, lo, hi } = Interval::of(figures);
    Interval { value, lo: lo.max(0.0), hi: hi.min(1.0) }
}

impl Measured {
    /// Of the RPCs of a run, in parts by when they were to be sent.
    fn of(setup: &Setup, seen: &[Seen], migrated: f64) -> Self {
        let mut parts = vec![Vec::new(); PARTS];
        for one in seen {
            let part =
                usize::try_from(one.sent.as_ns() * PARTS as u64 / setup.duration.as_ns().max(1)).unwrap_or(PARTS);
            parts[part.min(PARTS - 1)].push(one.latency);
        }
        parts.iter_mut().for_each(|part| part.sort_unstable());
        let p99 = |part: &Vec<Span>| part.get(part.len() * 99 / 100).map_or(0.0, |p99| p99.as_ns_f64() / 1e6);
        let late = |part: &Vec<Span>| {
            let within = part.partition_point(|latency| *latency <= setup.slo());
            (part.len() - within) as f64 / part.len().max(1) as f64
        };
        let services: Vec<Span> = seen.iter().map(|one| one.service).collect();
        let sum_ns: u64 = services.iter().map(|service| service.as_ns()).sum();
        Self {
            service_mean: Span::from_ns(sum_ns / services.len().max(1) as u64),
            rpcs: services.len(),
            services,
            p99_ms: Interval::of_positive(&parts.iter().map(p99).collect::<Vec<_>>()),
            late: share_of(&parts.iter().map(late).collect::<Vec<_>>()),
            migrated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_by_the_time_of_sending_and_late_is_beyond_the_slo() {
        let ms = Span::from_ms;
        let setup = Setup { service: ms(1), load: 0.5, workers: 2, waiting_max: None, duration: ms(100), seed: 1 };
        let seen = |sent, latency| Seen { sent: ms(sent), latency: ms(latency), service: ms(2) };
        // Each part has one of two late, but the last two, which have none.
        let last = |part| if part < 8 { 11 } else { 10 };
        let all: Vec<Seen> = (0..10).flat_map(|part| [seen(10 * part, 5), seen(10 * part + 9, last(part))]).collect();
        let measured = Measured::of(&setup, &all, 0.0);
        assert!((measured.late.value - 0.4).abs() < 1e-9 && (measured.p99_ms.value - 10.8).abs() < 1e-9);
        assert_eq!((measured.rpcs, measured.service_mean), (20, ms(2)));
    }
}
