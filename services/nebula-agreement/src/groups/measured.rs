//! The run: a server with two groups whose handlers sleep, and clients of each group that send in
//! an open loop.

use std::time::{Duration, Instant};

use nebula::{Client, ClientConfig, MigrationConfig, Queueing, RunningServer, Server, ServerConfig, SubmitError};
use nebula_nic::{Span, Timestamp};
use nebula_sim::Interval;
use nebula_sys::clock::Clock;
use nebula_workload::{Rng, Seed};

use super::beside::{Beside, Seen};
use super::handler::{Served, sleeping};
use super::setup::{CLIENTS, GROUPS, PERIOD, Setup};
use crate::agreement::{PARTS, mean, p99, part_of};
use nebula_ui::output::{self, Failure};
use nebula_ui::signal;

/// A client without work sleeps this long.
const NAP: Duration = Duration::from_micros(50);
/// The most connections to find clients of each group.
const CONNECTIONS_MAX: u32 = 64;
/// In mean service times: without a reply for this long after the last RPC was sent, the run fails.
const LAST: u32 = 1000;

pub(super) struct Measured {
    /// Of handlers.
    pub(super) services: Vec<Span>,
    pub(super) service_mean: Span,
    pub(super) beside: Beside,
    pub(super) rpcs: usize,
    pub(super) p99_ms: Interval,
    /// The share of RPCs beyond the SLO, in 0 to 1.
    pub(super) late: Interval,
    /// The share of RPCs that another group served.
    pub(super) migrated: f64,
}

pub(super) fn measure(setup: &Setup) -> Result<Measured, Failure> {
    let server = serve(setup)?;
    let clients = clients(&server)?;
    let name = if setup.waiting_max.is_some() { "with migration" } else { "without migration" };
    let bar =
        output::bar(&format!("{name} {{bar:40}} {{pos}} of {{len}} s"), Some(setup.duration.as_ns() / 1_000_000_000));
    let started = Instant::now();
    let begun = Timestamp::from_ps(Clock::new().now_ps());
    let seen: Result<Vec<Vec<Seen>>, Failure> = std::thread::scope(|scope| {
        let drive = |(index, client)| scope.spawn(move || drive(setup, client, index, begun));
        let threads: Vec<_> = (0..).zip(clients).map(drive).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            bar.set_position(started.elapsed().as_secs());
        }
        bar.finish_and_clear();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| Failure::fault("a client has panicked")).flatten()
        };
        threads.into_iter().map(join).collect()
    });
    let status = server.stop();
    Ok(Measured::of(setup, begun, &seen?.concat(), status.migrated_in as f64 / status.freed.max(1) as f64))
}

fn serve(setup: &Setup) -> Result<RunningServer, Failure> {
    let mut config = ServerConfig::default().policy(format!("altocumulus:{GROUPS}").parse().map_err(Failure::fault)?);
    config = config.workers(setup.workers).slo(setup.slo()).service_mean(setup.service);
    // Nothing is refused, so that late RPCs are visible.
    config.queueing = Queueing::Unbounded { recv_buffer_bytes: 16 << 20 };
    config.migration = MigrationConfig::default().period(PERIOD).waiting_max(setup.waiting_max.unwrap_or(u32::MAX));
    let name = format!("shm://demo-groups-{}", std::process::id());
    Server::bind(&*name).config(config).serve(sleeping(Clock::new())).map_err(Failure::fault)
}

/// The wanted number of clients of each group. An RPC that does not wait is served by the lowest
/// worker of its client's group, which identifies the group.
fn clients(server: &RunningServer) -> Result<Vec<(u16, Client)>, Failure> {
    let mut of_groups: Vec<(u32, Vec<Client>)> = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let config = ClientConfig::default().slots(4096);
        let mut client = Client::connect_with(server.endpoint().clone(), config).map_err(Failure::fault)?;
        let reply = client.call(&0_u64.to_le_bytes()).map_err(Failure::fault)?;
        let worker = Served::decode(reply).map_or(0, |served| served.worker);
        match of_groups.iter_mut().find(|(of, _)| *of == worker) {
            Some((_, clients)) => clients.push(client),
            None => of_groups.push((worker, vec![client])),
        }
        of_groups.sort_by_key(|(_, clients)| std::cmp::Reverse(clients.len()));
        let has = |(index, wanted): (usize, &u16)| {
            of_groups.get(index).is_some_and(|(_, clients)| clients.len() >= usize::from(*wanted))
        };
        if CLIENTS.iter().enumerate().all(has) {
            let take = |(group, ((_, clients), wanted)): (u16, ((u32, Vec<Client>), u16))| {
                clients.into_iter().take(wanted.into()).map(move |client| (group, client))
            };
            return Ok((0..).zip(of_groups.into_iter().zip(CLIENTS)).flat_map(take).collect());
        }
    }
    Err(Failure::fault(format!("none of {CONNECTIONS_MAX} clients came to another group")))
}

/// Sends a client's share in an open loop: latency counts from the scheduled time.
fn drive(
    setup: &Setup,
    (group, mut client): (u16, Client),
    index: u64,
    begun: Timestamp,
) -> Result<Vec<Seen>, Failure> {
    let clock = Clock::new();
    let mut rng = Seed(setup.seed).replica(index).stream("demo groups");
    let gap_ns = 1e9 * f64::from(CLIENTS.iter().sum::<u16>()) / setup.rate_rps();
    let mut due = begun + draw(&mut rng, gap_ns);
    let mut sleep = draw(&mut rng, setup.service.as_ns() as f64);
    let (mut pending, mut seen) = (std::collections::HashMap::new(), Vec::new());
    let end = begun + setup.duration;
    // The end, or the last reply after it: on a busy machine replies are late, but none is lost.
    let mut heard = end;
    loop {
        let now = Timestamp::from_ps(clock.now_ps());
        while due <= now && due < end {
            let sent = Timestamp::from_ps(clock.now_ps());
            match client.submit(&sleep.as_ns().max(1).to_le_bytes()) {
                Ok(ticket) => pending.insert(ticket, (due, sent)),
                Err(SubmitError::Full) => break,
                Err(error) => return Err(Failure::fault(error)),
            };
            due += draw(&mut rng, gap_ns);
            sleep = draw(&mut rng, setup.service.as_ns() as f64);
        }
        let mut wrong = None;
        // All at once: `poll` finds RPCs that end out of order many sleeps later.
        let taken = client.take_all(|reply| {
            let Some((due, sent)) = pending.remove(&reply.ticket) else { return };
            let done = Timestamp::from_ps(clock.now_ps());
            match reply.result.map(Served::decode) {
                Ok(Some(served)) => seen.push(Seen { group, due, sent, served, done }),
                Ok(None) => wrong = Some(Failure::fault("a reply is not the handler's")),
                Err(error) => wrong = Some(Failure::fault(error)),
            }
        });
        if let Some(failure) = wrong {
            return Err(failure);
        }
        if due >= end && pending.is_empty() || signal::has_come() {
            return Ok(seen);
        }
        if taken > 0 {
            heard = heard.max(now);
        }
        if now > heard + setup.service * u64::from(LAST) {
            return Err(Failure::fault(format!("{} RPCs had no reply", pending.len())));
        }
        if taken == 0 {
            std::thread::sleep(NAP);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some milliseconds")]
fn draw(rng: &mut Rng, mean_ns: f64) -> Span {
    Span::from_ns((rng.exponential() * mean_ns) as u64)
}

/// The interval of a share, within 0 to 1.
pub(super) fn share_of(figures: &[f64]) -> Interval {
    let Interval { value, lo, hi } = Interval::of(figures);
    Interval { value, lo: lo.max(0.0), hi: hi.min(1.0) }
}

impl Measured {
    /// Of a run that began at `begun`, in parts by scheduled time.
    fn of(setup: &Setup, begun: Timestamp, seen: &[Seen], migrated: f64) -> Self {
        let mut parts = vec![Vec::new(); PARTS];
        for one in seen {
            parts[part_of(one.due - begun, setup.duration)].push(one.latency());
        }
        let late = |part: &Vec<Span>| {
            let late = part.iter().filter(|&&latency| latency > setup.slo()).count();
            late as f64 / part.len().max(1) as f64
        };
        let late: Vec<f64> = parts.iter().map(late).collect();
        let p99_ms: Vec<f64> = parts.iter_mut().map(|part| p99(part).as_ns_f64() / 1e6).collect();
        let services: Vec<Span> = seen.iter().map(|one| one.served.took).collect();
        Self {
            service_mean: mean(&services),
            beside: Beside::of(seen),
            rpcs: services.len(),
            services,
            p99_ms: Interval::of_positive(&p99_ms),
            late: share_of(&late),
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
        let begun = Timestamp::ZERO + ms(7);
        let seen = |due, latency| {
            let due = begun + ms(due);
            let served = Served { worker: 0, begun: due, took: ms(2) };
            Seen { group: 0, due, sent: due, served, done: due + ms(latency) }
        };
        // Each part has one late RPC of two, but the last two have none.
        let last = |part| if part < 8 { 11 } else { 10 };
        let all: Vec<Seen> = (0..10).flat_map(|part| [seen(10 * part, 5), seen(10 * part + 9, last(part))]).collect();
        let measured = Measured::of(&setup, begun, &all, 0.0);
        assert!((measured.late.value - 0.4).abs() < 1e-9 && (measured.p99_ms.value - 10.8).abs() < 1e-9);
        assert_eq!((measured.rpcs, measured.service_mean), (20, ms(2)));
    }
}
