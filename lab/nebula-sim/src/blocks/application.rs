//! The application: the RPCs that arrive, and the memory that a core touches for each.
//!
//! `nebula-kvs` describes the memory accesses of the key-value store. The other applications are
//! those that NEBULA's §VIII mentions: state machine replication and network functions.

use super::error::BlocksError;
use super::machine::Machine;
use crate::shipped::shipped;
use nebula_nic::Span;
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// The application that runs on the server.
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
    /// A network function, which processes packets.
    NetworkFunction(NetworkFunction),
    /// The leader of a replicated state machine.
    Replication(Replication),
    /// Memory that other nodes read and write, without any core of this one.
    RemoteMemory(RemoteMemory),
}

/// MICA's key-value store, as in `nebula-kvs`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    /// Pairs in the store; all keys are equally likely.
    pub keys: u32,
    /// Buckets of the index.
    pub buckets: u32,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Share of GETs; the rest are SETs.
    pub get_share: f64,
    /// How clients get.
    #[serde(default)]
    pub gets: Gets,
}

/// How clients of a store get a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gets {
    /// By an RPC.
    #[default]
    Rpc,
    /// By two one-sided reads, of the bucket and then of the item, as `load kv --one-sided`.
    OneSided,
}

/// Memory that other nodes read and write by one-sided operations (soNUMA, which NEBULA §V-A and
/// RPCValet build on).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteMemory {
    /// Objects, all of which are equally likely.
    pub objects: u32,
    /// Bytes of an object, which an operation reads or writes whole.
    pub object_bytes: u32,
    /// Share of reads; the rest are writes.
    pub read_share: f64,
}

/// A network function: computes on a packet and on state that stays in the caches.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkFunction {
    /// Bytes of a packet.
    pub packet_bytes: u32,
    /// Bytes of state; all blocks are equally likely to be touched.
    pub state_bytes: u64,
    /// Blocks of state that a packet reads, each depending on the one before.
    pub state_reads: u32,
    /// Blocks of state that a packet writes, among those it has read.
    pub state_writes: u32,
    /// Computing time per packet.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
}

/// The leader of a replicated state machine: an update is written to its log and sent to all
/// followers; their replies arrive as RPCs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replication {
    /// Followers that every update is sent to.
    pub followers: u16,
    /// Bytes of an update.
    pub update_bytes: u32,
    /// Bytes of a follower's reply.
    pub answer_bytes: u32,
    /// Bytes of the log, which is written circularly.
    pub log_bytes: u64,
    /// Time from sending an update until a follower's reply arrives.
    #[serde(deserialize_with = "spelled")]
    pub answer_after: Span,
    /// Computing time of the leader per update.
    #[serde(deserialize_with = "spelled")]
    pub update_service: ServiceTime,
    /// Computing time of the leader per reply.
    #[serde(deserialize_with = "spelled")]
    pub answer_service: ServiceTime,
}

shipped!(Application in "applications":
    "kvs", "kvs-one-sided", "network-function", "remote-memory", "replication",
);

impl Application {
    /// Reads an application from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        toml::from_str(text).map_err(|error| BlocksError::toml("an application", text, &error))
    }

    /// The shipped store with another share of GETs and another size of values.
    #[must_use]
    pub fn key_value(get_share: f64, value_bytes: u32) -> Self {
        match Self::named("kvs") {
            Some(Self::KeyValue(store)) => Self::KeyValue(KeyValue { get_share, value_bytes, ..store }),
            _ => unreachable!("data/applications/kvs.toml is a key-value store"),
        }
    }

    /// Bytes of a request on the link: the mean over the types that clients send.
    ///
    /// # Errors
    ///
    /// Those of [`validate`](Self::validate).
    pub fn request_bytes_mean(&self, machine: &Machine) -> Result<f64, BlocksError> {
        let types = super::program::Compiled::of(self, machine)?.types;
        Ok(types.iter().map(|kind| kind.share * f64::from(kind.request_bytes)).sum())
    }

    /// Checks that it can be simulated on this machine.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] that says what is wrong.
    pub fn validate(&self, machine: &Machine) -> Result<(), BlocksError> {
        super::program::Compiled::of(self, machine).map(drop)
    }
}
