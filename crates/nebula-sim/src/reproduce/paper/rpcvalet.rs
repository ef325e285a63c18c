//! The set-ups of RPCValet.

use super::{Law, SideBySide};
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcValetSetup {
    /// Queues × servers.
    pub theory: Theory,
    /// One queue behind a lock.
    pub software_queue: SoftwareQueue,
    /// The NIC's queue against those of fewer cores.
    pub evaluation: SideBySide,
}

/// Cores that share out one load through more or fewer queues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// Cores in all.
    pub cores: u16,
    /// The SLO, in mean service times.
    pub slo_services: f64,
    /// A load at which the tails are compared.
    pub medium_load: f64,
    /// Another one, nearer to saturation.
    pub high_load: f64,
    /// Numbers of queues.
    pub queues: Vec<u16>,
    /// Service times.
    #[serde(rename = "law")]
    pub laws: Vec<Law>,
}

/// One queue in shared memory, and what its lock costs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftwareQueue {
    /// Cores.
    pub cores: u16,
    /// The SLO, in mean service times.
    pub slo_services: f64,
    /// The hand-off of the lock that is assumed.
    pub handoff_ns: u64,
    /// Other hand-offs, to see what the assumption does.
    pub handoffs_ns: Vec<u64>,
    /// Service times.
    #[serde(rename = "law")]
    pub laws: Vec<Law>,
}
