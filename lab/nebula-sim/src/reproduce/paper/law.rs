//! A law as a paper gives it.

use nebula_workload::ServiceTime;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// A distribution of service times with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Name in row ids.
    pub id: String,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The published values that use these service times.
    #[serde(default)]
    pub used_in: Vec<Use>,
}

/// Where a paper uses service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// In its theory.
    Theory,
    /// In its evaluation, by emulation.
    Emulation,
}
