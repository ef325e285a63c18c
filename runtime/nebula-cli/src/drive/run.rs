//! One load: a thread for each client, measurements merged.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use nebula::Status;
use nebula_nic::{Span, Timestamp};
use nebula_sys::clock::Clock;
use nebula_workload::{GapLog, GapSummary, GapTally, Generator, GeneratorConfig, LoadReport};

use super::client::{Driven, Driver, NebulaPeer};
use super::connect::connect;
use super::live::{Live, Progress};
use super::memcached::MemcachedPeer;
use super::one_sided::OneSidedPeer;
use super::plan::LoadPlan;
use nebula_ui::output::Failure;
use nebula_ui::signal;

#[derive(Clone, Debug)]
pub(crate) struct LoadOutcome {
    /// Merged over all clients, with gaps taken into account.
    pub(crate) report: LoadReport,
    pub(crate) gaps: GapSummary,
    /// The share of time, in 0 to 1, that reported pauses of the server's cores took.
    pub(crate) server_share_lost: f64,
    pub(crate) server: Status,
    /// A signal ended the load early; the results cover the time until then.
    pub(crate) was_interrupted: bool,
}

/// How long to wait for replies after the last operation was due: ten thousand times a typical SLO.
const DRAIN: Span = Span::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Runs a load to its end, or to a signal. Calls `watch` several times per second.
pub(crate) fn run(plan: &LoadPlan, watch: &mut dyn FnMut(&Progress)) -> Result<LoadOutcome, Failure> {
    let clock = Clock::new();
    let clients = (0..plan.clients.max(1)).map(|_| reach(plan)).collect::<Result<Vec<_>, _>>()?;
    let start = Timestamp::from_ps(clock.now_ps()) + time_to_prepare(plan);
    let lives: Vec<Arc<Live>> = clients.iter().map(|_| Arc::new(Live::new())).collect();
    let (tell, told) = mpsc::channel();
    let mut threads = Vec::with_capacity(clients.len());
    for ((index, client), live) in (0..).zip(clients).zip(&lives) {
        let (plan, live, tell) = (plan.clone(), live.clone(), tell.clone());
        let drive = move || {
            // A closed channel means that the load has already failed.
            let _ = tell.send(drive(&plan, index, client, live, start));
        };
        let name = format!("nebula-client-{index}");
        threads.push(thread::Builder::new().name(name).spawn(drive).map_err(Failure::fault)?);
    }
    drop(tell);
    let watcher = Watcher { clock, start, total: plan.span(), lives: &lives };
    let driven = watcher.collect(&told, watch)?;
    threads.into_iter().for_each(|thread| drop(thread.join()));
    join(driven)
}

enum Reached {
    Nebula(Box<NebulaPeer>),
    OneSided(Box<OneSidedPeer>),
    Memcached(MemcachedPeer),
}

fn reach(plan: &LoadPlan) -> Result<Reached, Failure> {
    Ok(match plan.memcached {
        Some(how) => Reached::Memcached(MemcachedPeer::connect(plan, how)?),
        None => {
            let client = connect(&plan.endpoint, &plan.client_config())?;
            match plan.one_sided {
                true => Reached::OneSided(Box::new(OneSidedPeer::new(client, plan)?)),
                false => Reached::Nebula(Box::new(NebulaPeer::new(client, plan))),
            }
        }
    })
}

/// Time for every client to start its thread and to allocate its tables, at half a gigabyte per
/// second.
fn time_to_prepare(plan: &LoadPlan) -> Span {
    const BYTES_PER_PENDING: u64 = 24;
    let bytes = plan.pending_max() as u64 * u64::from(plan.clients.max(1)) * BYTES_PER_PENDING;
    Span::from_ms(50) + Span::from_ns(bytes * 2)
}

fn drive(plan: &LoadPlan, index: u16, client: Reached, live: Arc<Live>, start: Timestamp) -> Result<Driven, Failure> {
    if let Some(&core) = plan.pin.get(usize::from(index) % plan.pin.len().max(1)) {
        let pinned = nebula_sys::affinity::pin_to(core);
        pinned.map_err(|error| Failure::bad_input(format!("cannot pin a client to core {core}: {error}")))?;
    }
    let config = GeneratorConfig {
        warm_up: plan.warm_up,
        pending_max: plan.pending_max(),
        late_after: plan.late_after,
        ..GeneratorConfig::default()
    };
    let generator = Generator::new(plan.schedule(index, start)?, config);
    let give_up_at = start + plan.span() + DRAIN;
    match client {
        Reached::Nebula(peer) => Driver::new(*peer, plan, generator, live).run(give_up_at),
        Reached::OneSided(peer) => Driver::new(*peer, plan, generator, live).run(give_up_at),
        Reached::Memcached(peer) => Driver::new(peer, plan, generator, live).run(give_up_at),
    }
}

struct Watcher<'a> {
    clock: Clock,
    start: Timestamp,
    total: Span,
    lives: &'a [Arc<Live>],
}

impl Watcher<'_> {
    fn collect(
        &self,
        told: &mpsc::Receiver<Result<Driven, Failure>>,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<Driven>, Failure> {
        let mut driven = Vec::with_capacity(self.lives.len());
        let mut progress = Progress::default();
        loop {
            match told.recv_timeout(LOOK_EVERY) {
                Ok(result) => driven.push(result?),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    progress = self.look(&progress);
                    watch(&progress);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) if driven.len() < self.lives.len() => {
                    return Err(Failure::fault("a client thread ended without a result"));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(driven),
            }
        }
    }

    fn look(&self, before: &Progress) -> Progress {
        let elapsed = Timestamp::from_ps(self.clock.now_ps()) - self.start;
        Progress::look(self.lives, before, elapsed, self.total)
    }
}

/// Applies each client's own gaps and the server's to its latencies, then merges the clients.
fn join(driven: Vec<Driven>) -> Result<LoadOutcome, Failure> {
    let mut tally = GapTally::new();
    let mut joined: Option<LoadReport> = None;
    let mut server = Status::default();
    let mut server_share_lost = 0.0_f64;
    for Driven { mut report, own_gaps, server_gaps, server: status } in driven {
        report.latency.settle_all(&GapLog::merged([own_gaps.log(), &server_gaps]));
        // Every client reads the gaps of the same server.
        server_share_lost = server_share_lost.max(share_of(&server_gaps, own_gaps.summary().observed));
        tally.merge(own_gaps.tally());
        server = status;
        match &mut joined {
            Some(joined) => joined.merge(report),
            None => joined = Some(report),
        }
    }
    let report = joined.ok_or_else(|| Failure::fault("a load needs at least one client"))?;
    let was_interrupted = signal::has_come();
    Ok(LoadOutcome { report, gaps: tally.summary(), server_share_lost, server, was_interrupted })
}

fn share_of(gaps: &GapLog, time: Span) -> f64 {
    let lost: Span = gaps.iter().map(|gap| gap.length()).sum();
    lost.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE)
}
