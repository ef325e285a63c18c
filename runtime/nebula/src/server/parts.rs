//! The parts of a server, each an engine and its workers: several engines, or the groups of
//! `altocumulus:G`.
//!
//! Each part has its own back end and receive region, and a share of the workers. Over shared
//! memory the listener assigns clients to parts in turn, and they stay. Over UDP each engine also
//! has a socket and a memory of executed RPCs. The kernel delivers a datagram to the engine that
//! the client's number names, from any address, so the engine of an RPC is the one that remembers
//! it.

use crate::config::error::ServeError;
use crate::config::kind::Kind;
use crate::config::migration::MigrationConfig;
use crate::config::server::ServerConfig;
use crate::nic::neighbors::{Neighbors, Ways, waiting_max};
use nebula_nic::schedule::{Manager, ManagerConfig, Thresholds};
use nebula_nic::{Backend, GroupConfig, GroupId, Sources};
use nebula_sys::udp::GROUP_MAX;

pub(super) struct Part {
    /// The server's, with this part's share of it.
    pub(super) config: ServerConfig,
    pub(super) group: Option<(Backend, Neighbors)>,
}

pub(super) fn check_parts(config: &ServerConfig) -> Result<(), ServeError> {
    let (groups, engines, workers) = (config.groups(), config.engines, config.workers);
    if workers == 0 {
        // The NIC's configuration refuses that, and reports the possible numbers.
        return Ok(());
    }
    if groups > workers {
        return Err(ServeError::Groups { groups, workers });
    }
    if !(1..=GROUP_MAX).contains(&engines) || engines > workers {
        return Err(ServeError::Engines { engines, workers });
    }
    if config.kind() == Kind::Inline && workers != engines {
        return Err(ServeError::InlineWorkers { workers, engines });
    }
    Ok(())
}

/// Divides a server into parts, as evenly as possible; `sources` are the transport's.
pub(super) fn part(config: &ServerConfig, sources: Option<Sources>) -> Result<Vec<Part>, ServeError> {
    let groups = config.groups();
    let configs: Vec<_> = (0..config.parts()).map(|index| share(config, index)).collect();
    if groups > 1 {
        return with_neighbors(configs, groups, sources);
    }
    Ok(configs.into_iter().map(|config| Part { config, group: None }).collect())
}

fn share(config: &ServerConfig, index: u16) -> ServerConfig {
    let parts = config.parts();
    if parts == 1 {
        return config.clone();
    }
    let decision_log = config.decision_log.as_ref().map(|path| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{index}"));
        name.into()
    });
    ServerConfig {
        workers: config.workers / parts + u16::from(index < config.workers % parts),
        engines: 1,
        retention_rpcs: config.retention_rpcs / u32::from(parts),
        retention_bytes: config.retention_bytes / usize::from(parts),
        decision_log,
        ..config.clone()
    }
}

fn with_neighbors(configs: Vec<ServerConfig>, groups: u16, sources: Option<Sources>) -> Result<Vec<Part>, ServeError> {
    // All groups have as many slots as the largest, the first, so that one numbering fits all.
    let slots = configs[0].backend_config()?.slots;
    let managers = configs.iter().zip((0..).map(GroupId)).map(|(config, group)| manager(config, group, groups));
    let managers = managers.collect::<Result<Vec<_>, _>>()?;
    let MigrationConfig { waiting_max, thresholds, .. } = &configs[0].migration;
    let is_given = waiting_max.is_some() || thresholds.is_some();
    let neighbors = Ways::new(groups).with_managers(managers, is_given);
    let parts = configs.into_iter().zip((0..).map(GroupId)).zip(neighbors).map(|((config, group), neighbors)| {
        let backend = config.backend_config_for(sources)?.slots(slots);
        let foreign_max = config.migration.foreign_max;
        let backend = Backend::try_group(GroupConfig { backend, group, groups, foreign_max })?;
        Ok(Part { config, group: Some((backend, neighbors)) })
    });
    parts.collect()
}

fn manager(config: &ServerConfig, group: GroupId, groups: u16) -> Result<Manager, ServeError> {
    let MigrationConfig { period, bulk, concurrency, waiting_max: given, ref thresholds, .. } = config.migration;
    let fixed = || given.unwrap_or_else(|| waiting_max(config.slo_bound(config.service_mean)));
    let thresholds = thresholds.clone().unwrap_or_else(|| Thresholds::fixed(fixed()));
    let manager = ManagerConfig::new(group, groups, config.workers, config.service_mean, thresholds);
    Ok(Manager::try_new(manager.period(period).bulk(bulk, concurrency))?)
}
