//! The set-ups of RPCValet.

use super::law::Law;
use super::side_by_side::SideBySide;
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcValetSetup {
    /// Queues × servers.
    pub theory: Theory,
    /// One queue behind a lock.
    pub software_queue: SoftwareQueue,
    /// The NIC's single queue against several queues of fewer cores each.
    pub evaluation: SideBySide,
}

/// One load, distributed to the cores through different numbers of queues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// Total number of cores.
    pub cores: u16,
    /// The SLO, in mean service times.
    pub slo_services: f64,
    /// A load at which the tails are compared.
    pub medium_load: f64,
    /// A higher load, nearer to saturation.
    pub high_load: f64,
    /// Numbers of queues.
    pub queues: Vec<u16>,
    /// Service times.
    #[serde(rename = "law")]
    pub laws: Vec<Law>,
}

/// One queue in shared memory, and the cost of its lock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftwareQueue {
    /// Cores.
    pub cores: u16,
    /// The SLO, in mean service times.
    pub slo_services: f64,
    /// The assumed hand-off time of the lock.
    pub handoff_ns: u64,
    /// All hand-off times that run, which show the effect of the assumption.
    pub handoffs_ns: Vec<u64>,
    /// Service times.
    #[serde(rename = "law")]
    pub laws: Vec<Law>,
}
