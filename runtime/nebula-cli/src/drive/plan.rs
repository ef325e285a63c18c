//! The parameters of a load.

use std::sync::Arc;

use nebula::{Balance, ClientConfig, Endpoint, FlowKind};
use nebula_nic::{Span, Timestamp};
use nebula_workload::{
    Arrivals, GeneratorConfig, KEY_BYTES, Keys, Length, Mix, Op, Operation, Rate, Schedule, Seed, Workload,
};

use super::exchange::{self, Exchange, Requests, Sizes};
use crate::flags::ServerList;
use nebula_ui::output::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memcached {
    /// Of each client.
    pub(crate) connections: u16,
    /// The most outstanding requests of a connection.
    pub(crate) pipeline: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct LoadPlan {
    pub(crate) exchange: Exchange,
    pub(crate) endpoint: ServerList,
    pub(crate) memcached: Option<Memcached>,
    /// Chooses among several servers.
    pub(crate) balance: Balance,
    /// The servers are replicas, of which one leads.
    pub(crate) replicated: bool,
    pub(crate) zone: Option<String>,
    /// Summed over all clients.
    pub(crate) rate: Rate,
    /// Of the measurement, after the warm-up.
    pub(crate) duration: Span,
    pub(crate) warm_up: Span,
    pub(crate) arrivals: Arrivals,
    /// Keys are below this number.
    pub(crate) key_count: u64,
    pub(crate) keys: Keys,
    pub(crate) mix: Mix,
    pub(crate) value_bytes: u32,
    pub(crate) key_bytes: usize,
    pub(crate) scan_items: u16,
    /// Bounds on the p99 of single operations, for a search.
    pub(crate) slo_of: Vec<(Op, Span)>,
    /// Client threads, each with a connection and a share of the rate.
    pub(crate) clients: u16,
    pub(crate) seed: Seed,
    /// In the ring of each client; a power of two.
    pub(crate) slots: u32,
    /// A client refuses an RPC that it has no room for this long after it was due. `None`: as soon
    /// as it would miss the server's SLO.
    pub(crate) patience: Option<Span>,
    pub(crate) late_after: Span,
    /// Cores for the clients, round-robin; empty for no pinning.
    pub(crate) pin: Vec<usize>,
    pub(crate) trace: Option<Arc<[Operation]>>,
    pub(crate) network_keys: nebula::Keys,
    /// Allow a server on another machine without a key.
    pub(crate) insecure: bool,
    pub(crate) flow: FlowKind,
    /// GETs read the server's store, without a worker.
    pub(crate) one_sided: bool,
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            exchange: Exchange::Kv,
            endpoint: (&Endpoint::Shm("kv".to_owned())).into(),
            memcached: None,
            balance: Balance::KeyHash,
            replicated: false,
            zone: None,
            rate: Rate::default(),
            duration: Span::from_secs(5),
            warm_up: Span::from_secs(1),
            arrivals: Arrivals::default(),
            key_count: 1_600_000,
            keys: Keys::default(),
            mix: Mix::default(),
            value_bytes: 512,
            key_bytes: KEY_BYTES,
            scan_items: 100,
            slo_of: Vec::new(),
            clients: 1,
            seed: Seed(1),
            slots: 256,
            patience: None,
            late_after: GeneratorConfig::default().late_after,
            pin: Vec::new(),
            trace: None,
            network_keys: nebula::Keys::default(),
            insecure: false,
            flow: FlowKind::Window,
            one_sided: false,
        }
    }
}

/// The most completed RPCs, of all clients, that are kept until the gaps are known: 192 MB at 24 B
/// each. In a longer load the oldest count for the raw tail only.
const PENDING_MAX: u64 = 8_000_000;

#[cfg(feature = "replicate")]
fn to_leader(config: ClientConfig) -> ClientConfig {
    nebula_replication::client::asks_for_leader(config)
}

/// Without the feature, the command line refuses `replicated`.
#[cfg(not(feature = "replicate"))]
fn to_leader(config: ClientConfig) -> ClientConfig {
    config
}

impl LoadPlan {
    #[must_use]
    pub(crate) fn at(&self, rate: Rate) -> Self {
        Self { rate, ..self.clone() }
    }

    /// From the first operation to the last.
    pub(super) fn span(&self) -> Span {
        match &self.trace {
            Some(trace) => trace.last().map_or(Span::ZERO, |last| last.at - Timestamp::ZERO),
            None => self.warm_up + self.duration,
        }
    }

    pub(super) fn value_bytes_max(&self) -> u32 {
        let of_trace = self.trace.iter().flat_map(|trace| trace.iter()).map(|operation| operation.value_bytes).max();
        self.value_bytes.max(of_trace.unwrap_or(0))
    }

    pub(super) fn requests(&self) -> Requests {
        let Self { key_bytes, scan_items, .. } = *self;
        Requests::new(self.exchange, Sizes { key_bytes, value_bytes: self.value_bytes_max(), scan_items })
    }

    pub(super) fn client_config(&self) -> ClientConfig {
        let pairs = if self.mix.share(Op::Scan) > 0.0 || self.trace.is_some() { self.scan_items } else { 0 };
        let reply_bytes = exchange::reply_bytes(self.key_bytes, self.value_bytes_max(), pairs);
        let config = ClientConfig::default().slots(self.slots).reply_bytes_max(reply_bytes);
        self.connected(config.one_sided(self.one_sided))
    }

    /// Completes `config` with this load's settings of the connection.
    pub(super) fn connected(&self, mut config: ClientConfig) -> ClientConfig {
        (config.keys, config.insecure) = (self.network_keys.clone(), self.insecure);
        config.flow = self.flow;
        config.zone = self.zone.clone();
        let config = config.balance(self.balance);
        if self.replicated { to_leader(config) } else { config }
    }

    pub(super) fn schedule(&self, index: u16, start: Timestamp) -> Result<Schedule, Failure> {
        let clients = self.clients.max(1);
        if let Some(trace) = &self.trace {
            let share = trace.iter().skip(index.into()).step_by(clients.into()).copied().collect();
            return Ok(Schedule::from_trace(share, start));
        }
        let workload = Workload {
            arrivals: self.arrivals.clone(),
            rate: self.rate.scaled(1.0 / f64::from(clients)),
            keys: self.keys,
            key_count: self.key_count,
            mix: self.mix,
            value_bytes: self.value_bytes,
            length: Length::Duration(self.span()),
        };
        Ok(workload.schedule(self.seed.replica(index.into()), start)?)
    }

    pub(super) fn pending_max(&self) -> usize {
        let clients = u64::from(self.clients.max(1));
        let expected = match &self.trace {
            Some(trace) => trace.len() as u64,
            None => whole(self.rate.as_rps() * self.duration.as_secs_f64()),
        };
        // One eighth more, because clients and arrivals are uneven.
        let room = (expected + expected / 8).min(PENDING_MAX) / clients + 1024;
        usize::try_from(room).unwrap_or(usize::MAX)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
fn whole(number: f64) -> u64 {
    number.min(1e15) as u64
}
