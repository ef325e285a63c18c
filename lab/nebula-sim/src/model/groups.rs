//! Groups of cores and their managers, as the file of a system describes them.

use crate::altocumulus::table::ThresholdTable;
use crate::error::SimError;
use crate::system::System;
use crate::system::altocumulus::Altocumulus;
use nebula_nic::{Policy, Span};
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// How cores are divided into groups, and what moves between groups.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Groups {
    /// Cores of a group; the number of groups is the number of cores divided by this, and at least
    /// one.
    cores: u16,
    /// Cores of a group that only manage.
    dedicated: u16,
    #[serde(deserialize_with = "spelled")]
    period: Span,
    bulk: u32,
    concurrency: u32,
    #[serde(deserialize_with = "spelled")]
    message: Span,
    fifo: u32,
    bound: u32,
    /// The name of a shipped table of thresholds.
    thresholds: String,
}

impl Groups {
    pub(super) fn part(&self, system: System) -> Result<System, SimError> {
        let groups = (system.cores / self.cores).max(1);
        let policy = nebula_nic::Groups::try_new(groups).map_or(system.policy, Policy::Altocumulus);
        let table = ThresholdTable::named(&self.thresholds)
            .ok_or_else(|| SimError::NoThresholds { name: self.thresholds.clone() })?;
        let options = Altocumulus {
            period: self.period,
            bulk: self.bulk,
            concurrency: self.concurrency,
            message: self.message,
            fifo: self.fifo,
            bound: self.bound,
            ..Altocumulus::new(table.thresholds()?)
        };
        Ok(System { policy, ..system }.dedicated(groups * self.dedicated).altocumulus(options))
    }
}
