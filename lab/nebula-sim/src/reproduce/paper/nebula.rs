//! The set-ups of NEBULA.

use super::evaluation::{Evaluation, Fig6a, Fig7, Fig8, Table3};
use super::variants::{Link, Reassembler, Scrubbing, Variants};
use crate::memory::{Dice, MemoryModel};
use nebula_workload::from_toml::spelled;
use nebula_workload::{Arrivals, ServiceTime};
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NebulaSetup {
    /// Equation 1.
    pub eq1: Eq1,
    /// The sizes of buffers and tables.
    pub sizing: Sizing,
    /// Table I.
    pub table1: Table1,
    /// Figure 2.
    pub fig2: Fig2,
    /// What the figures of the evaluation share.
    pub evaluation: Evaluation,
    /// Figures 6a and 6b.
    pub fig6a: Fig6a,
    /// Table III.
    pub table3: Table3,
    /// Figure 7.
    pub fig7: Fig7,
    /// Figure 8.
    pub fig8: Fig8,
    /// The link.
    pub link: Link,
    /// The reassembler.
    pub reassembler: Reassembler,
    /// Scrubbing.
    pub scrubbing: Scrubbing,
    /// Variants of the server.
    pub variants: Variants,
}

/// A server whose mean queue length is computed and simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eq1 {
    /// Cores.
    pub cores: u16,
    /// Offered load.
    pub offered_erlangs: f64,
    /// Service times of the simulation.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
}

/// Two servers whose buffers are sized from their load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizing {
    /// Cores of the large server.
    pub cores: u32,
    /// Its offered load.
    pub offered_erlangs: f64,
    /// Bytes of its mean RPC.
    pub rpc_bytes: u32,
    /// Cores of the small server.
    pub small_cores: u32,
    /// Its mean queue length.
    pub small_queue_depth_mean: f64,
    /// Bytes of an RPC there.
    pub small_rpc_bytes: u32,
}

/// Service times, and the settings that may have produced the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table1 {
    /// Cores.
    pub cores: u16,
    /// The SLO, in mean service times.
    pub slo_services: u64,
    /// The nominal mean service time, which defines load and SLO.
    pub service_ns: u64,
    /// The setting that the paper's text describes.
    pub textbook: String,
    /// Settings.
    #[serde(rename = "setting")]
    pub settings: Vec<Setting>,
    /// Rows of the table.
    #[serde(rename = "law")]
    pub laws: Vec<Printed>,
}

/// How RPCs arrive, and how service times are drawn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name in row ids.
    pub id: String,
    /// Name in texts.
    pub title: String,
    /// When RPCs arrive.
    #[serde(deserialize_with = "spelled")]
    pub arrivals: Arrivals,
    /// How service times are drawn.
    pub dice: Dice,
}

/// One row of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Name in row ids.
    pub id: String,
    /// The load for which the paper prints the depth.
    pub load: f64,
    /// The service times that the paper names.
    #[serde(deserialize_with = "spelled")]
    pub exact: ServiceTime,
    /// The service times that the artefact's random draws give.
    #[serde(deserialize_with = "spelled")]
    pub artefact: ServiceTime,
}

impl Printed {
    /// The service times under a setting.
    #[must_use]
    pub const fn service(&self, setting: &Setting) -> &ServiceTime {
        match setting.dice {
            Dice::Exact => &self.exact,
            Dice::Faces101 => &self.artefact,
        }
    }
}

/// The server of Figure 2, and the loads of its points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fig2 {
    /// The SLO.
    pub slo_ns: f64,
    /// The load at which RSS and RPCValet are compared.
    pub ratio_load: f64,
    /// The load just below RPCValet's saturation.
    pub sub_us_load: f64,
    /// The load at which NEBULA's cores are almost all busy.
    pub nebula_load: f64,
    /// The largest multiple of the p99 at the lowest load that is near-optimal.
    pub near_optimal: f64,
    /// Loads of the curves.
    pub loads: Vec<f64>,
    /// The machine. Parameters that are not given have the artefact's values.
    pub model: MemoryModel,
}
