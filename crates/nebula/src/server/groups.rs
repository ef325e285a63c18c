//! The groups of `altocumulus:G`: which workers, slots and thresholds each has.

use super::{ServeError, ServerConfig};
use crate::engine::groups::{Neighbors, Ways, waiting_max};
use nebula_nic::schedule::{Manager, ManagerConfig, Thresholds};
use nebula_nic::{Group, GroupConfig, GroupId, Policy, Span};

/// How groups hand RPCs to one another, under `altocumulus:G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationConfig {
    /// From one decision of a group to its next.
    pub period: Span,
    /// RPCs that a group hands over in a period, at most.
    pub bulk: u32,
    /// Groups that it hands RPCs to in a period, at most; at most as many as `bulk`.
    pub concurrency: u32,
    /// RPCs that may wait in a group before it hands the newest over; half of those that the SLO lets wait unless set.
    pub waiting_max: Option<u32>,
    /// RPCs of others that a group lets wait; it refuses more, and they stay where they were.
    pub foreign_max: u32,
}

impl Default for MigrationConfig {
    /// Bulk and concurrency are Altocumulus's; a period of 1 µs is some turns of an engine.
    fn default() -> Self {
        Self { period: Span::from_us(1), bulk: 16, concurrency: 8, waiting_max: None, foreign_max: 64 }
    }
}

/// An engine and its workers, about to be built: a whole server, or one group of it.
pub(super) struct Part {
    /// The server's, with the workers of this part.
    pub(super) config: ServerConfig,
    pub(super) group: Option<(Group, Neighbors)>,
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
        let group = Group::try_new(GroupConfig { backend, group, groups, foreign_max })?;
        Ok(Part { config, group: Some((group, neighbors)) })
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
