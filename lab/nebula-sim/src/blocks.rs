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

pub(crate) mod scenario;
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

pub use crate::blocks::scenario::Scenario;
pub use application::{Application, KeyValue, NetworkFunction, Replication};
pub use design::{Buffers, Design};
pub use error::BlocksError;
pub use experiment::{BlocksEstimate, Figures, RateAtSlo, estimate, rate_at_slo, service_time};
pub use highest::highest_rate;
pub use machine::{Core, Deployment, Machine, Nic};
pub use map::Part;
pub(crate) use nebula_workload::from_toml::spelled;
pub use tally::{BlocksTally, Stage, Stages};
pub use world::run;
