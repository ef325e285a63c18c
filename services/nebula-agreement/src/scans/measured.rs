//! The run: an ordered store on one core, whose handler is timed, and a client on another that
//! sends in an open loop.

use std::collections::HashMap;
use std::sync::Arc;

use nebula::{Client, ClientConfig, IdlePolicy, Queueing, RunningServer, Server, ServerConfig, Ticket};
use nebula_nic::{Policy, Span, Timestamp};
use nebula_ordered::{OrderedService, OrderedStore};
use nebula_sim::Interval;
use nebula_sys::affinity::{allowed_cores, pin_to};
use nebula_sys::clock::Clock;
use nebula_workload::{Gap, GapDetector, GapLog};

use super::handlers::{HANDLED_MAX, Handled, Notes, Timed};
use super::quiet::{PAUSE, Pauses, beside_handlers};
use super::requests::Draw;
use super::setup::Setup;
use crate::agreement::{PARTS, mean, p99, part_of};
use nebula_ui::output::{self, Failure};
use nebula_ui::signal;

const VALUE_BYTES: usize = 8;
/// RPCs that measure the costs: one after the other, then as many at a time as keep the core busy.
const FIRST: usize = 20_000;
const AT_A_TIME: usize = 16;
/// The most RPCs sent, and received, in one iteration: a long one counts as a pause.
const PER_LOOK: usize = 4;
/// Between two reads of the server's gaps. It lists thousands.
const SERVER_EVERY: Span = Span::from_ms(1);
/// The least time between two records that nothing is outstanding.
const EMPTY_EVERY: Span = Span::from_us(5);
/// A longer handler time, in multiples of the p99 of its type, met a pause of the machine.
const PAUSED: u64 = 10;
/// Each slice of this length is predicted separately: the machine's speed varies.
pub(super) const SLICE: Span = Span::from_ms(50);
/// In SCANs: nearly all RPCs outstanding at the begin of a pause were due within this time.
const UNDER_WAY: u64 = 5;

/// The cost of an RPC in addition to its handler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// From the end of a handler to the begin of the next, while RPCs wait.
    pub(super) core: Span,
    /// By type: the other time that a client waits without a queue, for the way there and back and
    /// for taking the reply.
    pub(super) way: [Span; 2],
}

pub(super) struct Measured {
    pub(super) rate_rps: f64,
    pub(super) rpcs: [usize; 2],
    pub(super) service_mean: [Span; 2],
    /// Handler times without the machine's pauses: by part of the run, slice of the part, and type.
    pub(super) services: Vec<Vec<[Vec<Span>; 2]>>,
    pub(super) beside: Beside,
    pub(super) raw_p99_us: [Option<Interval>; 2],
    /// Of the RPCs without pauses; `None` if fewer than two parts of the run have any.
    pub(super) p99_us: [Option<Interval>; 2],
    /// The share of those.
    pub(super) kept: f64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    due: Timestamp,
    latency: Span,
    kind: usize,
}

struct Driven {
    begun: Timestamp,
    seen: Vec<Seen>,
    own_gaps: GapDetector,
    server_gaps: Vec<Gap>,
    /// When nothing was outstanding.
    empty: Vec<Timestamp>,
}

pub(super) struct Stage {
    server: RunningServer,
    notes: Arc<Notes>,
    clock: Clock,
    beside: Beside,
    /// The rate that keeps the core busy.
    capacity_rps: f64,
}

fn cores() -> Result<[usize; 2], Failure> {
    match allowed_cores()[..] {
        [client, .., server] => Ok([server, client]),
        _ => Err(Failure::fault("the run needs two cores: one for the server, one for the client")),
    }
}

impl Stage {
    /// Starts the server, stores the pairs, and measures the costs.
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
        let (notes, clock) = (Arc::new(Notes::new()), Clock::new());
        let service = Timed { service: OrderedService::new(store), notes: notes.clone(), clock };
        let mut config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).policy(Policy::SingleQueue);
        config = config.pin([server_core]).slo(Span::from_ms(100));
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 64 << 20 };
        let name = format!("shm://demo-scans-{}", std::process::id());
        let server = Server::bind(&*name).config(config).serve(service).map_err(Failure::fault)?;
        pin_to(client_core).map_err(Failure::fault)?;
        let beside = Beside { core: Span::ZERO, way: [Span::ZERO; 2] };
        let mut stage = Self { server, notes, clock, beside, capacity_rps: 0.0 };
        stage.learn(setup)?;
        Ok(stage)
    }

    fn client(&self, setup: &Setup) -> Result<Client, Failure> {
        let reply_bytes = u32::from(setup.scan_items) * 32 + 64;
        let config = ClientConfig::default().slots(4096).reply_bytes_max(reply_bytes);
        Client::connect_with(self.server.endpoint().clone(), config).map_err(Failure::fault)
    }

    /// Measures the costs of an RPC, and the rate that saturates the core.
    fn learn(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (mut client, mut draw) = (self.client(setup)?, Draw::new(setup, u64::MAX));
        let mut round_trips = Vec::with_capacity(FIRST);
        for _ in 0..FIRST {
            let begun = self.clock.ticks();
            client.call(draw.next().1).map_err(Failure::fault)?;
            round_trips.push(Span::from_ps(self.clock.ps(self.clock.ticks().saturating_sub(begun))));
        }
        let handled = self.notes.take(self.clock);
        let whole = [false, true].map(|is_scan| {
            let of_type = round_trips.iter().zip(&handled).filter(|(_, one)| one.is_scan == is_scan);
            median(of_type.map(|(whole, one)| *whole - one.took).collect())
        });
        let (mut sent, mut done) = (0, 0);
        while done < FIRST && !signal::has_come() {
            while sent < FIRST && sent - done < AT_A_TIME && client.submit(draw.next().1).is_ok() {
                sent += 1;
            }
            while client.poll().is_some() {
                done += 1;
            }
        }
        let handled = self.notes.take(self.clock);
        let core = median(handled.windows(2).map(|pair| pair[1].begun - pair[0].end()).collect());
        self.beside = Beside { core, way: whole.map(|whole| whole - core) };
        let services: Vec<Span> = without_pauses(&handled).0.iter().map(|one| one.took).collect();
        self.capacity_rps = 1.0 / (mean(&services) + core).as_secs_f64();
        Ok(())
    }

    /// Offers `load` as a share of the core's capacity.
    pub(super) fn measure(&self, setup: &Setup, load: f64) -> Result<Measured, Failure> {
        let rate_rps = load * self.capacity_rps;
        if rate_rps * setup.duration.as_secs_f64() > HANDLED_MAX as f64 * 0.9 {
            return Err(Failure::bad_input("these are too many RPCs to note each: give a shorter --duration"));
        }
        let driven = self.drive(setup, rate_rps)?;
        let handled = self.notes.take(self.clock);
        let (services, paused) = without_pauses(&handled);
        let server_gaps = GapLog::from_gaps(beside_handlers(&driven.server_gaps, &handled).into_iter().chain(paused));
        let gaps = GapLog::merged([driven.own_gaps.log(), &server_gaps]);
        let service_mean = [false, true].map(|is_scan| {
            let of_type = services.iter().filter(|one| one.is_scan == is_scan);
            mean(&of_type.map(|one| one.took).collect::<Vec<_>>())
        });
        let pauses = Pauses::new(&gaps, &driven.empty, service_mean[1] * UNDER_WAY);
        let kept: Vec<Seen> = driven.seen.iter().filter(|seen| !pauses.cover(seen.due)).copied().collect();
        let p99_us = |seen: &[Seen]| [0, 1].map(|kind| p99_us(seen, kind, driven.begun, setup.duration));
        Ok(Measured {
            rate_rps,
            rpcs: [0, 1].map(|kind| driven.seen.iter().filter(|seen| seen.kind == kind).count()),
            service_mean,
            services: sliced(services.iter().filter(|one| !pauses.cover(one.begun)), driven.begun, setup.duration),
            beside: self.beside,
            raw_p99_us: p99_us(&driven.seen),
            p99_us: p99_us(&kept),
            kept: kept.len() as f64 / driven.seen.len().max(1) as f64,
        })
    }

    /// Sends in an open loop: latency counts from the scheduled time.
    fn drive(&self, setup: &Setup, rate_rps: f64) -> Result<Driven, Failure> {
        let mut client = self.client(setup)?;
        let mut draw = Draw::new(setup, rate_rps.to_bits());
        let mean_ps = 1e12 / rate_rps;
        let now = || Timestamp::from_ps(self.clock.now_ps());
        let mut server_seen = client.status().map_or(0, nebula::StatusReader::gaps_seen);
        let begun = now();
        let mut driven = Driven {
            begun,
            seen: Vec::new(),
            own_gaps: GapDetector::new(PAUSE, 1 << 20),
            server_gaps: Vec::new(),
            empty: vec![begun],
        };
        let mut pending: HashMap<Ticket, (Timestamp, usize)> = HashMap::with_capacity(4096);
        let (end, mut look_at) = (begun + setup.duration, begun);
        let mut due = begun + Span::from_ps(draw.gap_ps(mean_ps));
        while due < end || !pending.is_empty() {
            let at = now();
            driven.own_gaps.observe(at);
            for _ in 0..PER_LOOK {
                if due > at || due >= end || pending.len() >= 4000 {
                    break;
                }
                let (kind, request) = draw.next();
                let Ok(ticket) = client.submit(request) else { break };
                pending.insert(ticket, (due, kind));
                due += Span::from_ps(draw.gap_ps(mean_ps));
            }
            for _ in 0..PER_LOOK {
                let Some(done) = client.poll() else { break };
                let Some((due, kind)) = pending.remove(&done.ticket) else { continue };
                done.result.map_err(Failure::fault)?;
                driven.seen.push(Seen { due, latency: now() - due, kind });
            }
            if pending.is_empty() && at - driven.empty.last().copied().unwrap_or(begun) >= EMPTY_EVERY {
                driven.empty.push(at);
            }
            if at >= look_at {
                look_at = at + SERVER_EVERY;
                server_seen = note_gaps(&client, self.clock, server_seen, &mut driven.server_gaps);
            }
            if signal::has_come() || at > end + setup.duration * 9 {
                break;
            }
        }
        note_gaps(&client, self.clock, server_seen, &mut driven.server_gaps);
        Ok(driven)
    }
}

/// Adds the server's gaps from number `seen` on; returns the number of the next.
fn note_gaps(client: &Client, clock: Clock, seen: u64, gaps: &mut Vec<Gap>) -> u64 {
    let Some(status) = client.status() else { return seen };
    let next = status.gaps_seen();
    let of = |gap: nebula::Gap| Gap { start: Timestamp::from_ps(gap.from_ps), end: Timestamp::from_ps(gap.to_ps) };
    gaps.extend(status.gaps(seen, clock).into_iter().map(of));
    next
}

/// The RPCs without pauses, and the times of the others as gaps.
fn without_pauses(handled: &[Handled]) -> (Vec<Handled>, Vec<Gap>) {
    let bounds = [false, true].map(|is_scan| {
        let of_type = handled.iter().filter(|one| one.is_scan == is_scan);
        p99(&mut of_type.map(|one| one.took).collect::<Vec<_>>()) * PAUSED
    });
    let (kept, paused): (Vec<Handled>, Vec<Handled>) =
        handled.iter().partition(|one| one.took <= bounds[usize::from(one.is_scan)]);
    (kept, paused.iter().map(|one| Gap { start: one.begun, end: one.end() }).collect())
}

/// Handler times by part of the run, slice of the part, and type.
fn sliced<'h>(
    handled: impl Iterator<Item = &'h Handled>,
    begun: Timestamp,
    duration: Span,
) -> Vec<Vec<[Vec<Span>; 2]>> {
    let slices = usize::try_from((duration / PARTS as u64).as_ps() / SLICE.as_ps()).unwrap_or(1).max(1);
    let mut parts = vec![vec![[Vec::new(), Vec::new()]; slices]; PARTS];
    for one in handled {
        let at = one.begun - begun;
        let slice = usize::try_from(at.as_ps() / SLICE.as_ps()).unwrap_or(0) % slices;
        parts[part_of(at, duration)][slice][usize::from(one.is_scan)].push(one.took);
    }
    parts
}

fn median(mut spans: Vec<Span>) -> Span {
    let middle = spans.len() / 2;
    if spans.is_empty() { Span::ZERO } else { *spans.select_nth_unstable(middle).1 }
}

/// The p99 of a type over the parts of the run; `None` if fewer than two have it.
fn p99_us(seen: &[Seen], kind: usize, begun: Timestamp, duration: Span) -> Option<Interval> {
    let mut parts = vec![Vec::new(); PARTS];
    for one in seen.iter().filter(|one| one.kind == kind) {
        parts[part_of(one.due - begun, duration)].push(one.latency);
    }
    let of_parts = parts.iter_mut().filter(|part| !part.is_empty()).map(|part| p99(part).as_ns_f64() / 1e3);
    let of_parts: Vec<f64> = of_parts.collect();
    (of_parts.len() > 1).then(|| Interval::of_positive(&of_parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_met_a_pause_is_a_pause_and_no_service_time() {
        let at = |us| Timestamp::ZERO + Span::from_us(us);
        let handled = |from, us, is_scan| Handled { begun: at(from), took: Span::from_us(us), is_scan };
        let mut all: Vec<Handled> = (0..200).map(|n| handled(n, if n == 50 { 11 } else { 1 }, false)).collect();
        all.extend([handled(300, 20, true), handled(330, 30, true)]);
        let (kept, paused) = without_pauses(&all);
        assert_eq!((kept.len(), kept.iter().filter(|one| one.is_scan).count()), (201, 2));
        assert_eq!(paused, [Gap { start: at(50), end: at(61) }]);
        let parts = sliced(kept.iter(), at(0), Span::from_us(400));
        assert_eq!((parts[0][0][0].len(), parts[1][0][0].len(), parts[7][0][1].len()), (40, 39, 1));
        let late = [handled(1_450_000, 7, false), handled(1_999_999, 8, true)];
        let parts = sliced(late.iter(), at(0), Span::from_secs(2));
        assert_eq!((parts[7].len(), parts[7][1][0].len(), parts[9][3][1].len()), (4, 1, 1));
    }

    #[test]
    fn the_p99_is_of_one_type_in_each_part() {
        let at = |ms| Timestamp::ZERO + Span::from_ms(ms);
        let one = |ms, us, kind| Seen { due: at(ms), latency: Span::from_us(us), kind };
        let seen: Vec<Seen> = (100..200).flat_map(|ms| [one(ms, 7, 0), one(ms, 900, 1)]).collect();
        let p99 = p99_us(&seen, 0, at(100), Span::from_ms(100)).unwrap();
        assert!((p99.value - 7.0).abs() < 1e-9 && (p99.hi - p99.lo).abs() < 1e-6, "{p99:?}");
        assert_eq!(p99_us(&seen[..10], 0, at(100), Span::from_ms(100)), None);
    }
}
