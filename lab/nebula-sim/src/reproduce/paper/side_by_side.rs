//! Systems side by side, as data.

use super::spelled::span;
use crate::error::SimError;
use crate::model::SystemModel;
use crate::system::{Costs, System};
use nebula_nic::{Policy, Span};
use nebula_workload::from_toml::spelled;
use nebula_workload::{ServiceTime, TypeId};
use serde::Deserialize;

/// Systems that are compared by the highest load that each sustains.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideBySide {
    /// Total number of cores, unless a case says otherwise.
    pub cores: u16,
    /// The SLO in mean service times, unless a case says otherwise.
    pub slo_services: f64,
    /// In place of an SLO, the slowdown that 99.9 % of all RPCs keep.
    #[serde(default)]
    pub slowdown: Option<f64>,
    /// RPCs measured in a replication, by effort.
    #[serde(default = "rpcs")]
    pub rpcs: [u64; 3],
    /// The systems that run.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
    /// The comparisons with published figures.
    #[serde(default, rename = "comparison")]
    pub comparisons: Vec<Comparison>,
}

/// One system under one workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name in row ids.
    pub id: String,
    /// Description in texts.
    pub what: String,
    /// A system that ships with Nebula; `policy` is given otherwise.
    #[serde(default)]
    system: Option<String>,
    #[serde(default, deserialize_with = "policy")]
    policy: Option<Policy>,
    #[serde(default)]
    costs: Costs,
    /// The number of servers that share the cores; each RPC goes to a random one.
    #[serde(default = "one")]
    servers: u16,
    /// RPCs in a batch; the system's if not given.
    #[serde(default)]
    batch_max: Option<u16>,
    /// The service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// The SLO; the set-up's if not given.
    #[serde(default, deserialize_with = "span")]
    pub slo: Option<Span>,
    /// The type of RPC that the SLO applies to; all types if not given.
    #[serde(default)]
    slo_of: Option<String>,
}

const fn rpcs() -> [u64; 3] {
    [40_000, 100_000, 300_000]
}

const fn one() -> u16 {
    1
}

fn policy<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Option<Policy>, D::Error> {
    spelled(text).map(Some)
}

impl Case {
    /// The type that the SLO applies to.
    ///
    /// # Panics
    ///
    /// If the mix has no type of that name; a test reads the data.
    #[must_use]
    pub fn slo_of(&self) -> Option<TypeId> {
        let name = self.slo_of.as_ref()?;
        let place = self.service.types().iter().position(|kind| kind.0 == *name);
        let kind = place.and_then(|place| u8::try_from(place).ok()).map(TypeId);
        Some(kind.unwrap_or_else(|| panic!("case {:?}: the mix has no type {name:?}", self.id)))
    }

    /// The system, on a total of `cores` cores.
    ///
    /// # Errors
    ///
    /// [`SimError`] if it cannot be built.
    ///
    /// # Panics
    ///
    /// If it names neither a shipped system nor a policy; a test reads the data.
    pub fn system(&self, cores: u16) -> Result<System, SimError> {
        let each = cores / self.servers;
        let mut system = match (&self.system, self.policy) {
            (Some(name), None) => {
                let model = SystemModel::named(name);
                model.unwrap_or_else(|| panic!("case {:?}: no system {name:?} ships", self.id)).system(each)?
            }
            (None, Some(policy)) => System::new(policy, each).costs(self.costs),
            _ => panic!("case {:?} has a system or a policy, and not both", self.id),
        };
        if let (Some(max), Some(batch)) = (self.batch_max, &mut system.batch) {
            batch.max = max;
        }
        let system = system.servers(self.servers);
        system.validate()?;
        Ok(system)
    }
}

/// A published figure, and the cases that it compares.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The figure's name under its entry.
    pub figure: String,
    /// The case whose throughput at the SLO is compared.
    pub of: String,
    /// The case it is compared with; without one, the result is in millions of RPCs per second.
    #[serde(default)]
    pub over: Option<String>,
    /// Compares the p99 at this load, not the throughput, for the type that the SLO applies to.
    #[serde(default)]
    pub p99_at: Option<f64>,
    /// How the comparison is expressed.
    #[serde(default, rename = "as")]
    pub measured: Measured,
    /// Why our value may differ.
    #[serde(default)]
    pub remark: Option<String>,
}

/// How a comparison is expressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// The ratio of both values.
    #[default]
    Ratio,
    /// The ratio in percent.
    Percent,
    /// The reduction in percent.
    PercentLess,
    /// The increase in percent.
    PercentMore,
}
