//! The set-ups of the papers about short RPCs behind long ones: Shinjuku, Perséphone, Concord.

use super::side_by_side::SideBySide;
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// All set-ups of Shinjuku.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShinjukuSetup {
    /// Widely dispersed service times.
    pub bimodal: SideBySide,
    /// A store with point and range queries.
    pub rocksdb: SideBySide,
}

/// All set-ups of Perséphone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersephoneSetup {
    /// The cores that DARC reserves for each type.
    pub reservation: Reservation,
    /// As many long RPCs as short ones.
    pub high_bimodal: SideBySide,
    /// A few very long RPCs.
    pub extreme_bimodal: SideBySide,
    /// TPC-C transactions.
    pub tpcc: SideBySide,
}

/// All set-ups of Concord.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConcordSetup {
    /// Synthetic service times.
    pub micro: SideBySide,
}

/// Workloads for which DARC divides its workers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// Workers: cores that serve RPCs.
    pub workers: u16,
    /// The types whose reserved cores are compared.
    #[serde(rename = "case")]
    pub cases: Vec<ReservedFor>,
}

/// The cores of one type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservedFor {
    /// Name in row ids.
    pub id: String,
    /// The mix.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The type.
    pub of: String,
}
