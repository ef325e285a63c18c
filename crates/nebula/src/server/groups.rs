//! The groups of `altocumulus:G`: which workers, slots and thresholds each has.

use crate::config::error::ServeError;
use crate::config::migration::MigrationConfig;
use crate::config::server::ServerConfig;
use crate::nic::neighbors::{Neighbors, Ways, waiting_max};
use nebula_nic::schedule::{Manager, ManagerConfig, Thresholds};
use nebula_nic::{Backend, GroupConfig, GroupId};

/// An engine and its workers, about to be built: a whole server, or one group of it.
pub(super) struct Part {
    /// The server's, with the workers of this part.
    pub(super) config: ServerConfig,
    pub(super) group: Option<(Backend, Neighbors)>,
}

/// Parts the workers of a server into its groups, as evenly as can be.
pub(super) fn part(config: &ServerConfig) -> Result<Vec<Part>, ServeError> {
    let groups = config.groups();
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
