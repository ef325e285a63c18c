//! The block level: every 64-byte block that an RPC touches goes through caches, mesh and DRAM.
//!
//! At the queueing level, service times are given. Here they are a result: a core computes and
//! waits for blocks from L1, LLC or DRAM, and DRAM slows down when the NIC and all cores of a
//! server use it. Whether network buffers stay in the LLC follows from their size.
//!
//! | question | file |
//! |---|---|
//! | what are the costs of every mechanism? | `machine`, with `nebula-memsys` |
//! | which mechanisms are used? | `design` |
//! | which RPCs arrive, and which memory do they touch? | `application`, `program` |
//! | where is everything in memory? | `map` |
//! | the stations of one RPC | `world`: `world/egress`, `world/ingress`, `world/cpu` |
//! | what is measured? | `tally` |
//! | how precise is a result, and which rate meets the SLO? | `experiment` |
//!
//! `nebula-nic` makes every decision about an RPC: slots, reassembly, NACKs and dispatch in the
//! back end, completion queues and steering in the front ends.
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
mod highest;

pub use application::{Application, KeyValue, NetworkFunction, Replication};
pub use design::{Buffers, Design};
pub use error::BlocksError;
pub use experiment::{BlocksEstimate, Figures, RateAtSlo, RateBracket, estimate, rate_at_slo, service_time};
pub use highest::{HighestRate, highest_rate};
pub use machine::{Core, Deployment, Machine, Nic};
pub use map::Part;
pub use tally::{BlocksTally, Stage, Stages};
pub use world::run;

use nebula_workload::Arrivals;
use serde::{Deserialize, Deserializer, de};

/// What is simulated: an application under a design on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The machine: the costs of every mechanism.
    pub machine: Machine,
    /// The design: which mechanisms are used.
    pub design: Design,
    /// The application.
    pub application: Application,
    /// When RPCs arrive.
    pub arrivals: Arrivals,
    /// DRAM traffic of another program on the same machine, in 10⁹ bytes per second; half of it
    /// reads.
    pub hog_gb_per_s: f64,
}

impl Scenario {
    /// An application under a design on a machine, with Poisson arrivals and no other program.
    #[must_use]
    pub const fn new(machine: Machine, design: Design, application: Application) -> Self {
        Self { machine, design, application, arrivals: Arrivals::Poisson, hog_gb_per_s: 0.0 }
    }

    /// A scenario from the shipped files of these names; `None` if one of them does not exist.
    #[must_use]
    pub fn named(machine: &str, design: &str, application: &str) -> Option<Self> {
        Some(Self::new(Machine::named(machine)?, Design::named(design)?, Application::named(application)?))
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), BlocksError> {
        self.machine.validate()?;
        self.design.validate()?;
        let most = HOG_SHARE_MAX * self.machine.memory.peak_gb_per_s();
        if !(0.0..=most).contains(&self.hog_gb_per_s) {
            return Err(BlocksError::Hog { got: self.hog_gb_per_s, most });
        }
        self.application.validate(&self.machine)
    }
}

/// The largest share of DRAM bandwidth that another program may take. Above it, the simulated
/// server makes no progress.
const HOG_SHARE_MAX: f64 = 0.8;

/// Deserializes a value from its text.
pub(crate) fn spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    text: D,
) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}
