//! Published systems at the queueing level: each is a small file with a policy, the costs of its
//! mechanisms, and their sources.
//!
//! No code depends on the name of a system. To add one, write a file in `data/systems/` and add its
//! name to [`SHIPPED`].

mod groups;

use crate::error::SimError;
use crate::shipped::shipped;
use crate::system::host::Host;
use crate::system::preemption::Preemption;
use crate::system::router::Router;
use crate::system::{Batch, Costs, System};
use groups::Groups;
use nebula_nic::Policy;
pub(crate) use nebula_workload::from_toml::span;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;

/// A published system: how it gives RPCs to cores, and what that costs.
///
/// # Examples
///
/// ```
/// use nebula_sim::SystemModel;
///
/// let zygos = SystemModel::named("zygos").expect("it ships with Nebula");
/// assert_eq!(zygos.system(16)?.policy.to_string(), "work-stealing");
/// let own = SystemModel::parse("name = 'mine'\ntitle = 'mine'\npolicy = 'jbsq:4'\nhardware = true")?;
/// assert_eq!(own.system(8)?.workers(), 8);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemModel {
    /// Name.
    pub name: String,
    /// Title, with venue and year.
    pub title: String,
    /// The dispatch policy: which core serves which RPC.
    #[serde(deserialize_with = "spelled")]
    policy: Policy,
    /// Whether the NIC does in hardware what other systems do in core time.
    pub hardware: bool,
    /// Costs of its mechanisms.
    #[serde(default)]
    costs: Costs,
    /// Cores of each server, if the cores are split over several servers; otherwise one server has
    /// them all.
    #[serde(default)]
    server_cores: Option<u16>,
    /// The router before the servers.
    #[serde(default)]
    router: Option<Router>,
    /// Batches of each core's queue.
    #[serde(default)]
    batch: Option<Batch>,
    /// How RPCs are preempted.
    #[serde(default)]
    preemption: Preemption,
    /// Cores of each server that only schedule.
    #[serde(default)]
    dedicated: u16,
    /// RPCs that may wait, per core; unbounded unless given.
    #[serde(default)]
    queue_bound_per_core: Option<u32>,
    /// Groups of cores and their managers.
    #[serde(default)]
    groups: Option<Groups>,
    /// The interface between cores and NIC.
    #[serde(default)]
    host: Option<Host>,
}

shipped!(SystemModel in "systems":
    "rss", "ix", "zygos", "shinjuku", "persephone", "persephone-cfcfs", "concord", "nanopu", "rpcvalet-software", "r2p2",
    "rpcvalet", "altocumulus-int", "altocumulus-rss", "nebula", "dagger-mmio", "dagger-doorbell", "dagger-doorbell-batched", "dagger-upi",
    "dispatch-threads", "worker-threads", "single-queue",
);

impl SystemModel {
    /// Reads a system from TOML.
    ///
    /// # Errors
    ///
    /// [`SimError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        toml::from_str(text).map_err(|error| SimError::toml(text, &error))
    }

    /// The system with `cores` cores in total, including those that only schedule.
    ///
    /// # Errors
    ///
    /// [`SimError`] if it cannot be built with that many cores.
    pub fn system(&self, cores: u16) -> Result<System, SimError> {
        let each = self.server_cores.unwrap_or(cores);
        if each == 0 || !cores.is_multiple_of(each) {
            return Err(SimError::Parts { cores, each });
        }
        let system = System {
            custom: None,
            servers: cores / each,
            router: self.router,
            batch: self.batch,
            preemption: self.preemption,
            queue_bound: self.queue_bound_per_core.map(|bound| bound * u32::from(cores)),
            ..System::new(self.policy, each).costs(self.costs).dedicated(self.dedicated)
        };
        let system = match &self.groups {
            Some(groups) => groups.part(system)?,
            None => system,
        };
        let system = match self.host {
            Some(_) if self.queue_bound_per_core.is_some() => {
                return Err(SimError::Host { reason: BOUND_TWICE });
            }
            Some(host) => system.host(host),
            None => system,
        };
        system.validate()?;
        Ok(system)
    }
}

const BOUND_TWICE: &str = "the bound on a queue is its fifo: leave out queue_bound_per_core";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_system_of_its_name() {
        for name in SystemModel::shipped() {
            let model = SystemModel::named(name).unwrap();
            assert_eq!(model.name, name);
            for cores in [16, 64] {
                assert!(model.system(cores).is_ok(), "{name} with {cores} cores");
            }
        }
        assert_eq!(SystemModel::named("none"), None);
    }

    #[test]
    fn what_is_no_system_says_where_and_why() {
        let error = SystemModel::parse("name = 'x'\ntitle = 'x'\npolicy = 'fifo'\nhardware = true").unwrap_err();
        assert!(error.to_string().contains("line 3") && error.to_string().contains("single-queue"), "{error}");
        let error = SystemModel::parse("name = 'x'\nqueue = 3").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
