//! The set-ups of Altocumulus.

use super::{SideBySide, spelled};
use nebula_nic::Span;
use nebula_workload::ServiceTime;
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AltocumulusSetup {
    /// One group against other systems.
    pub sixteen: SideBySide,
    /// Many groups.
    pub scale: Scale,
    /// How thresholds predict.
    pub thresholds: Thresholds,
    /// What moves.
    pub traffic: Traffic,
}

/// Many groups under high rates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Cores in all; the last is what the figures are about.
    pub cores: Vec<u16>,
    /// Cores of a group, of which one manages.
    pub group_cores: u16,
    /// The SLO.
    #[serde(deserialize_with = "spelled")]
    pub slo: Span,
    /// Rates in millions a second.
    pub rates_mrps: Vec<f64>,
    /// For how many cores; others get their share.
    pub of_cores: u16,
    /// The law that is compared with what is published.
    pub judged: String,
    /// Numbers of flows that the judged law comes on too, each hashed to one group.
    pub flows: Vec<u16>,
    /// Service times.
    #[serde(rename = "law")]
    pub laws: Vec<TrainedLaw>,
}

/// Service times, and thresholds trained for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedLaw {
    /// Name in row ids.
    pub id: String,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The table of thresholds that ships with Nebula.
    pub thresholds: String,
}

/// A group alone, and who is late in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Cores that serve.
    pub workers: u16,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The SLO.
    #[serde(deserialize_with = "spelled")]
    pub slo: Span,
    /// Loads in thousandths.
    pub loads_permille: Vec<u32>,
    /// The load that is compared with what is published.
    pub judged_permille: u32,
}

/// What migrations move.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Bytes of a descriptor.
    pub descriptor_bytes: u32,
    /// Bytes of payloads.
    pub payloads_bytes: Vec<u32>,
    /// The payload that is compared with what is published.
    pub payload_bytes: u32,
    /// Cores in all.
    pub cores: u16,
    /// Cores of a group, of which one manages.
    pub group_cores: u16,
    /// Millions of RPCs per second.
    pub rate_mrps: f64,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The table of thresholds that ships with Nebula.
    pub thresholds: String,
}
