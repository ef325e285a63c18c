//! The set-ups of the link, the reassembler and scrubbing, and of variants of the server.

use nebula_nic::Policy;
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// What section VI says about the link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The rate that would follow from the scaling, in 10⁹ bit per second.
    pub gbps: f64,
    /// A rate for which no packet ever waits.
    pub ample_gbps: f64,
    /// Percentage of GETs.
    pub gets_percent: u32,
    /// Time between arrivals: more than the link carries.
    pub gap_ns: f64,
}

/// Clients whose packets interleave.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reassembler {
    /// Time between arrivals.
    pub gap_ns: f64,
    /// Rates of the clients' links in 10⁹ bit per second, the server's own first.
    pub clients_gbps: Vec<f64>,
}

/// A service with a few long RPCs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scrubbing {
    /// Time between arrivals.
    pub gap_ns: f64,
    /// The network function whose packets they are.
    pub application: String,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
}

/// Variants of the server, and of the assignment of RPCs to its cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variants {
    /// The SLO, in mean service times.
    pub bound_services: f64,
    /// The load at which assignments are compared.
    pub balance_gap_ns: f64,
    /// A load above saturation of `NEBULA_base`.
    pub beyond_gap_ns: f64,
    /// The highest load of `NEBULA_base`.
    pub base_gap_ns: f64,
    /// The load at which the tails of RSS and RPCValet are compared.
    pub tail_gap_ns: f64,
    /// The machines.
    #[serde(rename = "machine")]
    pub machines: Vec<MachineVariant>,
    /// The assignments.
    #[serde(rename = "assignment")]
    pub assignments: Vec<Assignment>,
}

/// A machine that differs from the shipped one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineVariant {
    /// Name in row ids.
    pub id: String,
    /// The difference, in words.
    pub what: String,
    /// The calibrated computing time of an RPC.
    pub compute_ns: f64,
    /// The keys of the machine's file that have other values.
    #[serde(default)]
    pub changes: toml::Table,
}

/// An assignment of RPCs to cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// Name in row ids.
    pub id: String,
    /// The policy.
    #[serde(deserialize_with = "spelled")]
    pub policy: Policy,
}
