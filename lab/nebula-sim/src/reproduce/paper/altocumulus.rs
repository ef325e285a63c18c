//! The set-ups of Altocumulus.

use super::side_by_side::SideBySide;
use nebula_nic::Span;
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
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
    /// Bytes moved by migration.
    pub traffic: Traffic,
}

/// Many groups under high rates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Total numbers of cores; the published figures are for the last.
    pub cores: Vec<u16>,
    /// Cores of a group, one of which is its manager.
    pub group_cores: u16,
    /// The SLO.
    #[serde(deserialize_with = "spelled")]
    pub slo: Span,
    /// Rates in millions of RPCs per second.
    pub rates_mrps: Vec<f64>,
    /// The number of cores that the rates are for; others get a proportional share.
    pub of_cores: u16,
    /// The law that is compared with the published figures.
    pub judged: String,
    /// Numbers of flows, each hashed to one group, for further runs of the judged law.
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

/// One group alone, and its late RPCs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Workers: cores that serve RPCs.
    pub workers: u16,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The SLO.
    #[serde(deserialize_with = "spelled")]
    pub slo: Span,
    /// Loads in thousandths.
    pub loads_permille: Vec<u32>,
    /// The load whose results are compared with the published figures.
    pub judged_permille: u32,
}

/// Bytes moved by migration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Bytes of a descriptor.
    pub descriptor_bytes: u32,
    /// Payload sizes in bytes.
    pub payloads_bytes: Vec<u32>,
    /// The payload size whose result is compared with the published figure.
    pub payload_bytes: u32,
    /// Total number of cores.
    pub cores: u16,
    /// Cores of a group, one of which is its manager.
    pub group_cores: u16,
    /// Millions of RPCs per second.
    pub rate_mrps: f64,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The table of thresholds that ships with Nebula.
    pub thresholds: String,
}
