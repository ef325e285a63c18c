//! All counters of a running server at one moment.

use nebula::{CoreStatus, Histogram, PacketStatus, PoolStatus, Span, Status, StatusReader, StoreCounters};
use nebula_sys::clock::Clock;
use serde::{Deserialize, Serialize};

use super::times::Times;

/// The fields are those of `/status.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub endpoint: String,
    /// `serving`, `draining`, or `starting` before the first turn.
    pub state: String,
    /// By the machine's clock.
    pub at_ns: u64,
    pub uptime_s: f64,
    pub slo_ns: u64,
    /// The age of the engine's counters.
    pub age_s: f64,
    pub offered: u64,
    pub served: u64,
    pub nacked: u64,
    pub nacked_by: NackedBy,
    pub abandoned: u64,
    pub cancelled: u64,
    pub unanswered: u64,
    pub dropped_packets: u64,
    pub violations: u64,
    pub stolen: u64,
    pub steered: u64,
    pub migrated: u64,
    pub migrations_hill: u64,
    pub migrations_valley: u64,
    pub migrations_pairing: u64,
    /// Executed and refused by engines.
    pub one_sided: u64,
    pub one_sided_refused: u64,
    pub queue_depth: u64,
    pub queue_depth_recent: u64,
    pub queue_depth_max: u64,
    pub queue_bound: u64,
    pub buffer_bytes: u64,
    pub buffer_bytes_used: u64,
    pub buffer_bytes_used_recent: u64,
    pub buffer_bytes_used_max: u64,
    pub reassembler_entries: u64,
    pub reassembler_entries_used: u64,
    pub clients: u64,
    pub workers: u64,
    pub engines: u64,
    /// Whether engine and worker are one thread, so that the engine's time is the worker's.
    pub is_inline: bool,
    pub engine_busy_ns: u64,
    pub service_ns_mean: f64,
    pub cores: Vec<Core>,
    pub darc_plans: u64,
    pub darc_groups: u64,
    pub pool: Option<Pool>,
    pub store: Option<StoreSnapshot>,
    /// Only in the server's own process: the status page does not have them.
    #[serde(skip)]
    pub packets: Option<PacketStatus>,
    // Of one RPC in 64.
    pub latency: Times,
    pub waiting: Times,
    pub service: Times,
}

/// RPCs refused, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NackedBy {
    pub queue_bound: u64,
    pub buffer_full: u64,
    pub reassembler_full: u64,
    pub too_large: u64,
    pub stale: u64,
    pub expired: u64,
}

impl NackedBy {
    /// Causes by name.
    pub fn named(self) -> [(&'static str, u64); 6] {
        let Self { queue_bound, buffer_full, reassembler_full, too_large, stale, expired } = self;
        [
            ("queue_bound", queue_bound),
            ("buffer_full", buffer_full),
            ("reassembler_full", reassembler_full),
            ("too_large", too_large),
            ("stale", stale),
            ("expired", expired),
        ]
    }
}

/// One worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    pub worker: u16,
    pub engine: u16,
    pub served: u64,
    pub busy_ns: u64,
}

/// The pool of long RPCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    pub threads: u16,
    pub bound: u32,
    pub held: u32,
    pub served: u64,
    pub refused: u64,
    pub service_ns_mean: Option<f64>,
}

/// The counters of the service's store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSnapshot {
    pub hits: u64,
    pub misses: u64,
    pub sets: u64,
    pub deletes: u64,
    pub evictions: u64,
    pub expired: u64,
    pub items: u64,
    pub bytes_used: u64,
    pub bytes_max: u64,
}

impl Snapshot {
    /// Reads a server's status page.
    pub fn read(endpoint: &str, reader: &StatusReader, clock: Clock) -> Self {
        let (status, cores) = (reader.read(), reader.cores());
        let now_ps = clock.now_ps();
        let ago = |ticks: u64| Span::from_ps(clock.ps(clock.ticks().saturating_sub(ticks))).as_secs_f64();
        let merged = |of: fn(&CoreStatus) -> &Histogram| {
            let mut all = Histogram::default();
            cores.iter().for_each(|core| all.merge(of(core)));
            Times::of(&all)
        };
        Self {
            endpoint: endpoint.to_owned(),
            state: state(&status).to_owned(),
            at_ns: now_ps / 1000,
            uptime_s: ago(status.started_ticks),
            age_s: ago(status.written_ticks),
            pool: reader.pool().map(pool),
            store: reader.store().map(StoreSnapshot::from),
            packets: None,
            latency: merged(|core| &core.latency),
            waiting: merged(|core| &core.waiting),
            service: merged(|core| &core.service),
            is_inline: status.is_inline,
            cores: cores.iter().map(Core::from).collect(),
            ..Self::counted(&status)
        }
    }

    fn counted(status: &Status) -> Self {
        let slot_bytes = u64::from(nebula_nic::SLOT_BYTES);
        Self {
            offered: status.offered(),
            served: status.freed,
            nacked: status.nacked(),
            nacked_by: NackedBy::from(status),
            abandoned: status.abandoned,
            cancelled: status.cancelled,
            unanswered: status.unanswered,
            dropped_packets: status.dropped,
            violations: status.violations,
            stolen: status.stolen,
            steered: status.steered,
            migrated: status.migrated_in,
            migrations_hill: status.migrations_hill,
            migrations_valley: status.migrations_valley,
            migrations_pairing: status.migrations_pairing,
            one_sided: status.operations,
            one_sided_refused: status.operations_refused,
            queue_depth: status.queue_depth,
            queue_depth_recent: status.queue_depth_recent,
            queue_depth_max: status.queue_depth_max,
            queue_bound: status.queue_bound,
            buffer_bytes: status.buffer_bytes(),
            buffer_bytes_used: status.slots_used * slot_bytes,
            buffer_bytes_used_recent: status.slots_used_recent * slot_bytes,
            buffer_bytes_used_max: status.slots_used_max * slot_bytes,
            reassembler_entries: status.reassembler_entries,
            reassembler_entries_used: status.incomplete,
            clients: status.clients,
            workers: status.workers,
            engines: status.engines,
            engine_busy_ns: status.engine_busy.as_ns(),
            service_ns_mean: status.service.as_ns_f64(),
            slo_ns: status.slo.as_ns(),
            darc_plans: status.darc_plans,
            darc_groups: status.darc_groups,
            ..Self::default()
        }
    }
}

fn state(status: &Status) -> &'static str {
    match () {
        () if status.written_ticks == 0 => "starting",
        () if status.is_draining => "draining",
        () => "serving",
    }
}

fn pool(pool: PoolStatus) -> Pool {
    let PoolStatus { threads, bound, held, served, refused, service, .. } = pool;
    Pool { threads, bound, held, served, refused, service_ns_mean: service.map(Span::as_ns_f64) }
}

impl From<&Status> for NackedBy {
    fn from(status: &Status) -> Self {
        Self {
            queue_bound: status.nacked_queue_bound,
            buffer_full: status.nacked_buffer_full,
            reassembler_full: status.nacked_reassembler_full,
            too_large: status.nacked_too_large,
            stale: status.nacked_stale,
            expired: status.nacked_expired,
        }
    }
}

impl From<&CoreStatus> for Core {
    fn from(core: &CoreStatus) -> Self {
        Self { worker: core.worker, engine: core.engine, served: core.served, busy_ns: core.busy.as_ns() }
    }
}

impl From<StoreCounters> for StoreSnapshot {
    fn from(store: StoreCounters) -> Self {
        let StoreCounters { hits, misses, sets, deletes, evictions, expired, items, bytes_used, bytes_max } = store;
        Self { hits, misses, sets, deletes, evictions, expired, items, bytes_used, bytes_max }
    }
}
