//! The block level: each 64-byte block that an RPC touches goes through caches, mesh and DRAM.
//!
//! The queueing level asks how long RPCs wait when each takes a given time. Here the time is a result: a core computes, waits for
//! blocks from L1, LLC or DRAM, and DRAM is slow because NICs and cores of a whole server ask it for blocks. Whether network buffers
//! stay in the LLC follows from their size.
//!
//! | question | file |
//! |---|---|
//! | what does every mechanism cost? | `machine`, with `nebula-memsys` |
//! | which mechanisms are used? | `design` |
//! | which RPCs come, and what do they touch? | `application`, `program` |
//! | where in memory? | `map` |
//! | the stations of one RPC | `world`: `world/egress`, `world/ingress`, `world/cpu` |
//! | where did time and bytes go? | `tally` |
//! | how sure is it, and which rate keeps the SLO? | `experiment` |
//!
//! Every decision about an RPC is made by `nebula-nic`: the back end's slots, reassembly, NACKs and dispatch, the front ends'
//! completion queues and steering.
//!
//! # Examples
//!
//! NEBULA and RPCValet, 16 cores, MICA: what an RPC moves to and from DRAM.
//!
//! ```
//! use nebula_sim::Length;
//! use nebula_sim::blocks::{Scenario, run};
//! use nebula_workload::{Rate, Seed};
//!
//! let blocks = |design: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let scenario = Scenario::named("isca20", design, "kvs").expect("all three ship with Nebula");
//!     let tally = run(&scenario, Rate::try_new(5e6)?, Length { warmup: 40_000, rpcs: 10_000 }, Seed(1))?;
//!     Ok(tally.blocks_per_rpc())
//! };
//! assert!(blocks("rpcvalet")? > 2.0 * blocks("nebula")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod machine;
mod design;
mod application;
mod map;
mod program;
mod world;
mod tally;
mod experiment;

pub use application::{Application, KeyValue, NetworkFunction, Replication};
pub use design::{Buffers, Design};
pub use error::BlocksError;
pub use experiment::{BlocksEstimate, RateAtSlo, RateBracket, estimate, rate_at_slo, service_time};
pub use machine::{Core, Deployment, Machine, Nic};
pub use map::Part;
pub use tally::{BlocksTally, Stage, Stages};
pub use world::run;

use nebula_workload::Arrivals;
use serde::{Deserialize, Deserializer, de};

/// What is simulated: an application under a design on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What every mechanism costs.
    pub machine: Machine,
    /// Which mechanisms are used.
    pub design: Design,
    /// What runs on it.
    pub application: Application,
    /// When RPCs come.
    pub arrivals: Arrivals,
    /// What another program on the same machine moves to and from DRAM, in 10⁹ bytes a second; half of it reads.
    pub hog_gb_per_s: f64,
}

impl Scenario {
    /// An application under a design on a machine, Poisson arrivals, nothing beside it.
    #[must_use]
    pub const fn new(machine: Machine, design: Design, application: Application) -> Self {
        Self { machine, design, application, arrivals: Arrivals::Poisson, hog_gb_per_s: 0.0 }
    }

    /// Of those that ship with Nebula; `None` if one of the names is of none.
    #[must_use]
    pub fn named(machine: &str, design: &str, application: &str) -> Option<Self> {
        Some(Self::new(Machine::named(machine)?, Design::named(design)?, Application::named(application)?))
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] with what is wrong with it.
    pub fn validate(&self) -> Result<(), BlocksError> {
        self.machine.validate()?;
        let most = HOG_SHARE_MAX * self.machine.memory.peak_gb_per_s();
        if !(0.0..=most).contains(&self.hog_gb_per_s) {
            return Err(BlocksError::Hog { got: self.hog_gb_per_s, most });
        }
        self.application.validate(&self.machine)
    }
}

/// The share of DRAM's bandwidth that another program may take: beyond, nothing that is simulated comes to an end.
const HOG_SHARE_MAX: f64 = 0.8;

/// Reads what has a spelling.
pub(crate) fn spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    text: D,
) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}
