//! The application: which RPCs come, how large they are, and what memory a core touches for each.
//!
//! The key-value store's touches are `nebula-kvs`'s own description; the others are those that NEBULA's §VIII names as
//! neighbors: state machine replication and network functions.

use super::BlocksError;
use super::machine::Machine;
use super::spelled;
use crate::shipped::{Shipped, shipped};
use nebula_nic::Span;
use nebula_workload::ServiceTime;
use serde::Deserialize;

/// What runs on the server.
///
/// # Examples
///
/// ```
/// use nebula_sim::blocks::Application;
///
/// let store = Application::named("kvs").expect("it ships with Nebula");
/// assert!(matches!(store, Application::KeyValue(store) if store.value_bytes == 512));
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Application {
    /// A key-value store.
    KeyValue(KeyValue),
    /// A function that packets pass through.
    NetworkFunction(NetworkFunction),
    /// The leader of a replicated state machine.
    Replication(Replication),
}

/// MICA's key-value store, as `nebula-kvs` has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    /// Pairs in the store, asked for with equal chance.
    pub keys: u32,
    /// Buckets of the index.
    pub buckets: u32,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Share of GETs; the others are SETs.
    pub get_share: f64,
}

/// A network function: computes on a packet and on state that stays in the caches.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkFunction {
    /// Bytes of a packet.
    pub packet_bytes: u32,
    /// Bytes of state, all of which is as likely to be touched.
    pub state_bytes: u64,
    /// Blocks of state that a packet reads, each depending on the one before.
    pub state_reads: u32,
    /// Blocks of state that a packet writes, of those it has read.
    pub state_writes: u32,
    /// How long it computes.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
}

/// The leader of a replicated state machine: an update goes to its log and to all followers; their answers come back as RPCs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replication {
    /// Followers that every update is sent to.
    pub followers: u16,
    /// Bytes of an update.
    pub update_bytes: u32,
    /// Bytes of a follower's answer.
    pub answer_bytes: u32,
    /// Bytes of the log, which is written from end to end and over again.
    pub log_bytes: u64,
    /// From the sending of an update until a follower's answer comes.
    #[serde(deserialize_with = "spelled")]
    pub answer_after: Span,
    /// How long the leader computes for an update.
    #[serde(deserialize_with = "spelled")]
    pub update_service: ServiceTime,
    /// How long the leader computes for an answer.
    #[serde(deserialize_with = "spelled")]
    pub answer_service: ServiceTime,
}

/// The applications that ship with Nebula.
const SHIPPED: Shipped = shipped!("applications":
    "kvs", "network-function", "replication",
);

impl Application {
    /// The names of those that ship with Nebula.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.names()
    }

    /// The one of this name that ships with Nebula.
    ///
    /// # Panics
    ///
    /// If its file is no application, which a test rules out.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHIPPED.parsed(name, Self::parse)
    }

    /// Reads an application from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with line and reason.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        toml::from_str(text).map_err(|error| BlocksError::toml("an application", text, &error))
    }

    /// The store that ships with Nebula, with another share of GETs and other values.
    #[must_use]
    pub fn key_value(get_share: f64, value_bytes: u32) -> Self {
        match Self::named("kvs") {
            Some(Self::KeyValue(store)) => Self::KeyValue(KeyValue { get_share, value_bytes, ..store }),
            _ => unreachable!("data/applications/kvs.toml is a key-value store"),
        }
    }

    /// Whether it can be simulated on this machine.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] with what is wrong with it.
    pub fn validate(&self, machine: &Machine) -> Result<(), BlocksError> {
        super::program::Compiled::of(self, machine).map(drop)
    }
}
