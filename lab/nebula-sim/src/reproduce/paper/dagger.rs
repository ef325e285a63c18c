//! The set-ups of Dagger.

use super::spelled::span;
use crate::error::SimError;
use crate::model::SystemModel;
use crate::system::{Host, System};
use nebula_nic::Span;
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaggerSetup {
    /// The handler of the measurements.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// How long a batch of several RPCs waits to be full.
    #[serde(deserialize_with = "spelled")]
    pub batch_wait: Span,
    /// RPCs measured in a replication, by effort.
    pub rpcs: [u64; 3],
    /// One core, by interface.
    pub interfaces: Interfaces,
    /// One to several threads.
    pub scaling: Scaling,
    /// Key-value stores.
    pub kvs: Kvs,
}

/// One core, by interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interfaces {
    /// The load of latencies without batches, as a share of the core's saturation.
    pub idle: f64,
    /// The load of latencies with batches.
    pub busy: f64,
    /// The interfaces.
    #[serde(rename = "case")]
    pub cases: Vec<HostCase>,
    /// Figures whose names are not a case and a quantity.
    #[serde(rename = "row")]
    pub rows: Vec<Derived>,
}

/// One interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCase {
    /// Name in row ids.
    pub id: String,
    /// Description in texts.
    pub what: String,
    system: String,
    /// RPCs of a batch; the system's if not given.
    #[serde(default)]
    batch: Option<u16>,
    /// Latency of a crossing; the system's if not given.
    #[serde(default, deserialize_with = "span")]
    hop: Option<Span>,
    /// RPCs of the closed loop that measures the throughput.
    pub outstanding: u32,
}

/// What is measured about an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// The throughput of one core, in millions of RPCs per second.
    Mrps,
    /// The median round trip in microseconds.
    P50,
    /// The p99 of the round trip in microseconds.
    P99,
    /// The parameter: the latency of a crossing in nanoseconds.
    Hop,
}

impl Quantity {
    /// The quantities measured for a case, as figures spell them.
    pub const MEASURED: [(&str, Self); 3] = [("mrps", Self::Mrps), ("p50", Self::P50), ("p99", Self::P99)];
}

/// A figure made of one or two cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// The figure's name under its entry.
    pub figure: String,
    /// The case.
    pub of: String,
    /// The quantity.
    pub measure: Quantity,
    /// The case that divides it.
    #[serde(default)]
    pub over: Option<String>,
    /// The published value of another system that divides it.
    #[serde(default)]
    pub over_value: Option<f64>,
}

/// One to several threads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    system: String,
    batch: u16,
    /// Numbers of threads.
    pub threads: Vec<u16>,
    /// The most threads for which the published throughput is linear.
    pub linear_to_threads: u16,
    /// RPCs of each thread's closed loop, end to end.
    pub outstanding: u32,
    /// The same for requests that come from elsewhere, which cross the interface once.
    pub outstanding_raw: u32,
}

/// Key-value stores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kvs {
    system: String,
    /// The service time of the store.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The load, as a share of the core's saturation.
    pub busy: f64,
}

impl HostCase {
    /// Whether it is a shipped system with another hop.
    #[must_use]
    pub const fn is_variant(&self) -> bool {
        self.hop.is_some()
    }

    /// One core with this interface, and clients on the same host.
    pub fn system(&self, setup: &DaggerSetup) -> Result<System, SimError> {
        hosted(&self.system, 1, |host| {
            let host = self.batch.map_or(host, |batch| batched(host, batch, setup));
            Host { hop: self.hop.unwrap_or(host.hop), ..host }
        })
    }
}

impl Scaling {
    /// `threads` threads, whose RPCs cross the interface end to end or once.
    pub fn system(&self, setup: &DaggerSetup, threads: u16, is_end_to_end: bool) -> Result<System, SimError> {
        hosted(&self.system, threads, |host| Host { loopback: is_end_to_end, ..batched(host, self.batch, setup) })
    }
}

impl Kvs {
    /// One core of the server.
    pub fn system(&self) -> Result<System, SimError> {
        hosted(&self.system, 1, |host| host)
    }
}

fn batched(host: Host, batch: u16, setup: &DaggerSetup) -> Host {
    Host { batch, batch_wait: if batch > 1 { setup.batch_wait } else { Span::ZERO }, ..host }
}

/// A shipped system with a changed host interface, in loopback unless changed.
fn hosted(name: &str, cores: u16, change: impl Fn(Host) -> Host) -> Result<System, SimError> {
    let model = SystemModel::named(name).unwrap_or_else(|| panic!("no system {name:?} ships"));
    let system = model.system(cores)?;
    let host = system.host.unwrap_or_else(|| panic!("{name:?} has no host interface"));
    let system = system.host(change(Host { loopback: true, ..host }));
    system.validate()?;
    Ok(system)
}
