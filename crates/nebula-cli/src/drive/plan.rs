//! What is to be asked for, and how.

use std::sync::Arc;

use nebula::{ClientConfig, Endpoint, Key};
use nebula_nic::{Span, Timestamp};
use nebula_workload::{Arrivals, Keys, Length, Mix, Operation, Rate, Schedule, Seed, Workload};

use super::exchange;
use crate::output::Failure;

/// One load: fields as on the command line.
#[derive(Clone, Debug)]
pub(crate) struct LoadPlan {
    /// Whom to ask.
    pub(crate) endpoint: Endpoint,
    /// RPCs a second, of all clients together.
    pub(crate) rate: Rate,
    /// What is measured, after the warm-up.
    pub(crate) duration: Span,
    /// Sent first and not measured.
    pub(crate) warm_up: Span,
    pub(crate) arrivals: Arrivals,
    /// Keys from 0 to this.
    pub(crate) key_count: u64,
    pub(crate) keys: Keys,
    pub(crate) mix: Mix,
    pub(crate) value_bytes: u32,
    /// Threads, each with a connection and a share of the rate.
    pub(crate) clients: u16,
    pub(crate) seed: Seed,
    /// Slots of each client's ring, a power of two.
    pub(crate) slots: u32,
    /// Cores that clients are pinned to, in turn; none where empty.
    pub(crate) pin: Vec<usize>,
    /// Replayed instead of what is drawn from the fields above.
    pub(crate) trace: Option<Arc<[Operation]>>,
    /// The key that a server over UDP has too.
    pub(crate) key: Option<Key>,
    /// Go without a key beyond this machine.
    pub(crate) insecure: bool,
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Shm("kv".to_owned()),
            rate: Rate::default(),
            duration: Span::from_secs(5),
            warm_up: Span::from_secs(1),
            arrivals: Arrivals::default(),
            key_count: 1_600_000,
            keys: Keys::default(),
            mix: Mix::default(),
            value_bytes: 512,
            clients: 1,
            seed: Seed(1),
            slots: 256,
            pin: Vec::new(),
            trace: None,
            key: None,
            insecure: false,
        }
    }
}

/// Completed RPCs, of all clients, that wait for the gaps to be known: 192 MB at 24 B each. In a longer load the oldest are in the
/// raw tail alone.
const PENDING_MAX: u64 = 8_000_000;

impl LoadPlan {
    /// This load at another rate.
    #[must_use]
    pub(crate) fn at(&self, rate: Rate) -> Self {
        Self { rate, ..self.clone() }
    }

    /// The time from the first operation to the last.
    pub(super) fn span(&self) -> Span {
        match &self.trace {
            Some(trace) => trace.last().map_or(Span::ZERO, |last| last.at - Timestamp::ZERO),
            None => self.warm_up + self.duration,
        }
    }

    /// The longest value that may come or go.
    pub(super) fn value_bytes_max(&self) -> u32 {
        let of_trace = self.trace.iter().flat_map(|trace| trace.iter()).map(|operation| operation.value_bytes).max();
        self.value_bytes.max(of_trace.unwrap_or(0))
    }

    pub(super) fn client_config(&self) -> ClientConfig {
        let reply_bytes = exchange::reply_bytes(self.value_bytes_max());
        self.connected(ClientConfig::default().slots(self.slots).reply_bytes_max(reply_bytes))
    }

    /// `config` for the server that is loaded.
    pub(super) fn connected(&self, mut config: ClientConfig) -> ClientConfig {
        (config.key, config.insecure) = (self.key.clone(), self.insecure);
        config
    }

    /// What client number `index` sends.
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

    /// How many completed RPCs one client remembers.
    pub(super) fn pending_max(&self) -> usize {
        let clients = u64::from(self.clients.max(1));
        let expected = match &self.trace {
            Some(trace) => trace.len() as u64,
            None => whole(self.rate.as_rps() * self.duration.as_secs_f64()),
        };
        // An eighth more, as clients and arrivals are uneven.
        let room = (expected + expected / 8).min(PENDING_MAX) / clients + 1024;
        usize::try_from(room).unwrap_or(usize::MAX)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
fn whole(number: f64) -> u64 {
    number.min(1e15) as u64
}
