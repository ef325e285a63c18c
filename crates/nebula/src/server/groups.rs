//! The groups of `altocumulus:G`: which workers, slots and thresholds each has.

use super::{ServeError, ServerConfig};
use crate::engine::groups::{Neighbors, Ways, waiting_max};
use nebula_nic::schedule::{Manager, ManagerConfig, Thresholds};
use nebula_nic::{Backend, GroupConfig, GroupId, Policy, Span};

/// Under `altocumulus:G`: how the groups of workers hand RPCs to one another.
///
/// Each field has a builder method of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationConfig {
    /// Time between two decisions of a group. Default: 1 µs.
    pub period: Span,
    /// RPCs that a group hands over in a period, at most. Default: 16.
    pub bulk: u32,
    /// Groups that it hands RPCs to in a period, at most; at most `bulk`. Default: 8.
    pub concurrency: u32,
    /// RPCs that may wait in a group before it hands over the newest. `None`, the default, is half of what the SLO lets wait.
    pub waiting_max: Option<u32>,
    /// RPCs of other groups that may wait in a group. It refuses more; they stay where they were. Default: 64.
    pub foreign_max: u32,
}

impl Default for MigrationConfig {
    /// Bulk and concurrency are Altocumulus's; a period of 1 µs is some turns of an engine.
    fn default() -> Self {
        Self { period: Span::from_us(1), bulk: 16, concurrency: 8, waiting_max: None, foreign_max: 64 }
    }
}

impl MigrationConfig {
    /// Sets [the time between two decisions](Self#structfield.period).
    #[must_use]
    pub fn period(mut self, period: impl Into<Span>) -> Self {
        self.period = period.into();
        self
    }

    /// Sets [how many RPCs are handed over in a period](Self#structfield.bulk).
    #[must_use]
    pub fn bulk(mut self, rpcs: u32) -> Self {
        self.bulk = rpcs;
        self
    }

    /// Sets [how many groups they go to](Self#structfield.concurrency).
    #[must_use]
    pub fn concurrency(mut self, groups: u32) -> Self {
        self.concurrency = groups;
        self
    }

    /// Sets [how many RPCs may wait before some are handed over](Self#structfield.waiting_max).
    #[must_use]
    pub fn waiting_max(mut self, rpcs: u32) -> Self {
        self.waiting_max = Some(rpcs);
        self
    }

    /// Sets [how many RPCs of other groups may wait](Self#structfield.foreign_max).
    #[must_use]
    pub fn foreign_max(mut self, rpcs: u32) -> Self {
        self.foreign_max = rpcs;
        self
    }
}

/// An engine and its workers, about to be built: a whole server, or one group of it.
pub(super) struct Part {
    /// The server's, with the workers of this part.
    pub(super) config: ServerConfig,
    pub(super) group: Option<(Backend, Neighbors)>,
}

/// How many groups a server has whose workers are parted; 1 for all others.
pub(super) fn groups_of(config: &ServerConfig) -> u16 {
    match config.policy {
        Policy::Altocumulus(groups) => groups.get(),
        _ => 1,
    }
}

/// Parts the workers of a server into its groups, as evenly as can be.
pub(super) fn part(config: &ServerConfig) -> Result<Vec<Part>, ServeError> {
    let groups = groups_of(config);
    if groups == 1 {
        return Ok(vec![Part { config: config.clone(), group: None }]);
    }
    if groups > config.workers {
        return Err(ServeError::Groups { groups, workers: config.workers });
    }
    let workers_of = |group| config.workers / groups + u16::from(group < config.workers % groups);
    let configs = (0..groups).map(|group| ServerConfig { workers: workers_of(group), ..config.clone() });
    let configs: Vec<_> = configs.collect();
    // One numbering for the slots of all: every group has as many as the largest needs, which is the first.
    let slots = configs[0].backend_config()?.slots;
    let managers = configs.iter().zip((0..).map(GroupId)).map(|(config, group)| manager(config, group, groups));
    let managers = managers.collect::<Result<Vec<_>, _>>()?;
    let neighbors = Ways::new(groups).with_managers(managers, config.migration.waiting_max.is_some());
    let parts = configs.into_iter().zip((0..).map(GroupId)).zip(neighbors).map(|((config, group), neighbors)| {
        let backend = config.backend_config()?.slots(slots);
        let foreign_max = config.migration.foreign_max;
        let backend = Backend::try_group(GroupConfig { backend, group, groups, foreign_max })?;
        Ok(Part { config, group: Some((backend, neighbors)) })
    });
    parts.collect()
}

/// The manager of the group whose workers `config` has.
fn manager(config: &ServerConfig, group: GroupId, groups: u16) -> Result<Manager, ServeError> {
    let MigrationConfig { period, bulk, concurrency, waiting_max: given, .. } = config.migration;
    let waiting = given.unwrap_or_else(|| waiting_max(config.slo_bound(config.service_mean)));
    let thresholds = Thresholds::fixed(waiting);
    let manager = ManagerConfig::new(group, groups, config.workers, config.service_mean, thresholds);
    Ok(Manager::try_new(manager.period(period).bulk(bulk, concurrency))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebuilt::rebuilt;

    #[test]
    fn every_field_has_a_builder_of_its_name_that_sets_it() {
        let unusual = MigrationConfig {
            period: Span::from_us(7),
            bulk: 701,
            concurrency: 702,
            waiting_max: Some(703),
            foreign_max: 704,
        };
        let rebuilt =
            rebuilt!(MigrationConfig from unusual; period, bulk, concurrency, foreign_max; optional waiting_max);
        assert_eq!(rebuilt, unusual);
    }
}
