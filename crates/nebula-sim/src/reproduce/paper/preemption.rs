//! The set-ups of the papers about short RPCs behind long ones: Shinjuku, Perséphone, Concord.

use super::{SideBySide, spelled};
use nebula_workload::ServiceTime;
use serde::Deserialize;

/// All set-ups of Shinjuku.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShinjukuSetup {
    /// Service times that disperse.
    pub bimodal: SideBySide,
    /// A store with point and range queries.
    pub rocksdb: SideBySide,
}

/// All set-ups of Perséphone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersephoneSetup {
    /// Which cores DARC keeps for whom.
    pub reservation: Reservation,
    /// As many long RPCs as short ones.
    pub high_bimodal: SideBySide,
    /// Very few, very long RPCs.
    pub extreme_bimodal: SideBySide,
    /// Transactions.
    pub tpcc: SideBySide,
}

/// All set-ups of Concord.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConcordSetup {
    /// Synthetic service times.
    pub micro: SideBySide,
}

/// Workloads that DARC parts its workers for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// Cores that serve.
    pub workers: u16,
    /// What is asked of the plan.
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
