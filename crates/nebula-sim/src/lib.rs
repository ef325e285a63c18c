//! The laboratory: Nebula's NIC in simulated time, with error bars.
//!
//! Every decision about an RPC is `nebula-nic`'s, the same code that the runtime runs; this crate carries the decisions out in
//! simulated time and measures what comes of them. A run is one thread, and the same seed gives the same bytes on every machine;
//! replications run side by side, and a figure without an interval is not a result.
//!
//! | question | module |
//! |---|---|
//! | what is simulated: servers, policy, costs, clients' reactions? | `system` |
//! | what is a published system of that? | `model`, `data/systems/*.toml` |
//! | what is asked of it, and when? | `load`, with `nebula-workload` |
//! | what happens next? | `calendar` |
//! | the stations of one RPC in simulated time | `world` |
//! | what was seen? | `tally` |
//! | how sure is it? | `interval`, `experiment` |
//! | which load still keeps the SLO, and how long is the queue there? | `search`, [`sizing`] |
//! | from which queue length on is an RPC late? | [`altocumulus`] |
//! | when is memory the limit, and not the cores? | [`memory`] |
//! | what does a whole server do, block by block? | [`blocks`] |
//! | where do points and replications run, and what are their figures called? | [`study`] |
//! | what did the papers publish, and does it come out here? | [`reproduce`] |
//!
//! # Invariants
//!
//! - **No decision is made here that `nebula-nic` makes.** *Enforced by* `tests/properties.rs` and `tests/golden.rs`, and by the crate
//!   having no policy of its own.
//! - **Results depend on the seed alone**, never on threads, time or the order of a hash. *Enforced by* `tests/properties.rs`, `tests/golden.rs`.
//! - **Theory holds.** *Enforced by* `tests/closed_forms.rs`.
//! - **Memory does not grow with the RPCs.** *Enforced by* `tests/memory_bound.rs`.
//!
//! # Examples
//!
//! The p99 of 16 cores at 80 % load, one queue against a queue a core:
//!
//! ```
//! use nebula_sim::{Effort, Load, System, estimate};
//!
//! let load = Load::open("exp:1us".parse()?, 0.8);
//! let effort = Effort::default().rpcs(20_000).replications(5);
//! let p99_us = |policy: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let system = System::new(policy.parse()?, 16);
//!     Ok(estimate(&system, &load, &effort, &|| ())?.p99().scaled(1e-6))
//! };
//! let (one, each) = (p99_us("jbsq:2")?, p99_us("rss")?);
//! assert!(one.hi < 7.0 && each.lo > 15.0, "{one:?} {each:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod executor;
mod shipped;
mod system;
mod model;
mod load;
mod calendar;
mod world;
mod tally;
mod interval;
mod experiment;
mod search;
pub mod sizing;
pub mod altocumulus;
pub mod memory;
pub mod blocks;
pub mod study;
pub mod reproduce;

pub use calendar::Calendar;
pub use error::{LOAD_MAX, SimError};
pub use experiment::{Effort, Estimate, estimate};
pub use interval::Interval;
pub use load::{CLIENTS_MAX, Load, Source};
pub use model::SystemModel;
pub use search::{Bracket, LoadAtSlo, Objective, load_at_objective, load_at_slo};
pub use system::{Altocumulus, Batch, CORES_TOTAL_MAX, Costs, Preemption, Router, System};
pub use tally::{CoreTime, Depths, Distribution, Migrations, OfType, Overheads, Tally};
pub use world::{Length, run, run_with};
