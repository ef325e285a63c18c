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
    /// The load at which latencies without batches are measured, as a share of what the core
    /// sustains.
    pub idle: f64,
    /// The load at which latencies with batches are measured.
    pub busy: f64,
    /// The interfaces.
    #[serde(rename = "case")]
    pub cases: Vec<HostCase>,
    /// Figures that are not named after a case and a measure.
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
    /// The system, which ships with Nebula.
    system: String,
    /// RPCs of a batch, in place of the system's.
    #[serde(default)]
    batch: Option<u16>,
    /// Latency of a crossing, in place of the system's.
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
    /// All that a case is measured for, as figures spell it.
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
    /// What is taken of it.
    pub measure: Quantity,
    /// The case that it is divided by.
    #[serde(default)]
    pub over: Option<String>,
    /// The published value of another system that it is divided by.
    #[serde(default)]
    pub over_value: Option<f64>,
}

/// One to several threads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// The system, which ships with Nebula.
    system: String,
    /// RPCs of a batch.
    batch: u16,
    /// Numbers of threads.
    pub threads: Vec<u16>,
    /// To so many threads the published throughput is linear.
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
    /// The system, which ships with Nebula.
    system: String,
    /// The service time of the store.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The load, as a share of what the core sustains.
    pub busy: f64,
}

impl HostCase {
    /// Whether it is a variant of a system, with another hop.
    #[must_use]
    pub const fn is_variant(&self) -> bool {
        self.hop.is_some()
    }

    /// One core of it, with clients on the same host.
    ///
    /// # Errors
    ///
    /// [`SimError`] if it cannot be built.
    pub fn system(&self, setup: &DaggerSetup) -> Result<System, SimError> {
        hosted(&self.system, 1, |host| {
            let host = self.batch.map_or(host, |batch| batched(host, batch, setup));
            Host { hop: self.hop.unwrap_or(host.hop), ..host }
        })
    }
}

impl Scaling {
    /// So many threads, whose RPCs cross the interface end to end or once.
    ///
    /// # Errors
    ///
    /// [`SimError`] if it cannot be built.
    pub fn system(&self, setup: &DaggerSetup, threads: u16, is_end_to_end: bool) -> Result<System, SimError> {
        hosted(&self.system, threads, |host| Host { loopback: is_end_to_end, ..batched(host, self.batch, setup) })
    }
}

impl Kvs {
    /// One core of the server.
    ///
    /// # Errors
    ///
    /// [`SimError`] if it cannot be built.
    pub fn system(&self) -> Result<System, SimError> {
        hosted(&self.system, 1, |host| host)
    }
}

fn batched(host: Host, batch: u16, setup: &DaggerSetup) -> Host {
    Host { batch, batch_wait: if batch > 1 { setup.batch_wait } else { Span::ZERO }, ..host }
}

/// A shipped system with its host interface changed, in loopback unless that is changed.
fn hosted(name: &str, cores: u16, change: impl Fn(Host) -> Host) -> Result<System, SimError> {
    let model = SystemModel::named(name).unwrap_or_else(|| panic!("no system {name:?} ships"));
    let system = model.system(cores)?;
    let host = system.host.unwrap_or_else(|| panic!("{name:?} has no host interface"));
    let system = system.host(change(Host { loopback: true, ..host }));
    system.validate()?;
    Ok(system)
}
