//! The laboratory: Nebula's NIC in simulated time, with error bars.
//!
//! `nebula-nic` makes every decision about an RPC, with the code that the runtime runs. This crate
//! carries the decisions out in simulated time and measures the result. A run uses one thread, and
//! a seed gives the same bytes on every machine; replications run in parallel and give intervals.
//!
//! | question | module |
//! |---|---|
//! | what is simulated (servers, policy, costs, reactions of clients)? | `system` |
//! | how are published systems described? | `model`, `data/systems/*.toml` |
//! | how are tiers of servers described? | `tiers`, `data/tiers/*.toml` |
//! | how are tenants described, which share cores by weight? | `tenants`, `data/tenants/*.toml` |
//! | what load is offered? | `load`, with `nebula-workload` |
//! | which core is the hottest, where flows or keys decide? | `hottest` |
//! | which event is next? | `calendar`, `upcoming` |
//! | how does one RPC pass its stations in simulated time? | `world` |
//! | which runs need no events? | `recursion` |
//! | what was measured? | `tally` |
//! | how precise is a result, and was enough simulated for it? | `interval`, `experiment`, `settled` |
//! | what is the highest load that meets the SLO, and how long is the queue there? | `search`, [`sizing`] |
//! | at which queue length does an RPC miss its SLO? | [`altocumulus`] |
//! | when is memory bandwidth the bottleneck rather than the cores? | [`memory`] |
//! | what do many senders get of one receive buffer, under each flow control? | [`incast`] |
//! | how does a whole server behave, simulated at the level of cache blocks? | [`blocks`] |
//! | how are experiments run, and what are the names of their results? | [`study`] |
//! | what did the papers publish, and is it reproduced here? | [`reproduce`] |
//!
//! # Event loops
//!
//! A run takes the next event again and again until its measured window has ended:
//!
//! | loop | question | why no other loop answers it |
//! |---|---|---|
//! | `world/window.rs` | when is a run of the two loops below over, and does it need more room? | both share it: they only say which event is next |
//! | `world/one_run.rs` | how long does an RPC take, from its client through one server? | `tiers` has no closed loop, no types and no core times |
//! | `world/tiers.rs` | how long does a call take whose parts go to tiers of servers? | RPCs are copied, cancelled and fail together; in `one_run` each is in one place until it ends |
//! | `world/tenants.rs` | what does each tenant get of cores that are lent? | each tenant has its arrivals and results; the window of other runs has one of each |
//! | `incast/world.rs` | what do many senders get of one link and one receive buffer? | events are packets on links and in a switch; an RPC of `world` is one packet that takes no time |
//! | `memory/machine.rs` | when is memory bandwidth the bottleneck? | accesses to DRAM come in the order of time between events; no run in `world` has a memory |
//! | `blocks/world.rs` | how does a whole server behave, block by block? | it simulates each cache; `memory` has a hit ratio in its place, and is many times as fast |
//!
//! `one_run` asks its servers for their next event. Each kind of server has a separate loop and
//! does not pay for the mechanisms of another:
//!
//! | loop | question | why no other loop answers it |
//! |---|---|---|
//! | `world/cpu.rs` | cores get each RPC from the NIC and finish it | the shortest path, which most runs take: a branch for another kind costs each of their RPCs |
//! | `world/queues.rs` | cores take RPCs from each other's queues, or in batches | an RPC changes its core after the NIC's decision, and a batch ends as a whole |
//! | `world/scheduler.rs` | a scheduling thread interrupts cores | an RPC returns to the queue with the rest of its service, and the scheduler itself takes time |
//! | `world/altocumulus.rs` | managers move RPCs between groups of cores | an RPC changes its NIC while it waits, and a group publishes its queue before each change |
//! | `world/hosted.rs` | the interface between NIC and cores takes time | events are lines that cross to the NIC, and a core only adds up the time of its work |
//! | `world/routed.rs` | a router stands before servers | it has no cores: it adds two latencies to another loop of this table |
//! | `world/observed.rs` | an observer asks what happened to each RPC | it has no events: it passes on those of `cpu` |
//!
//! `recursion` has no events. Under `jbsq:N` credit comes back in a [`Calendar`], from which an
//! arrival takes what is due; `world/cpu.rs` gives the same results with events, and more slowly.
//!
//! # Invariants
//!
//! - **Decisions of `nebula-nic` are not made a second time here.** This crate contains no dispatch
//!   policy. *Enforced by* `tests/properties.rs` and `tests/golden.rs`. One queue for all cores is
//!   also a recursion, which `recursion/tests.rs` compares with those decisions.
//! - **Results depend on the seed alone**, never on threads, wall-clock time or hash order.
//!   *Enforced by* `tests/properties.rs`, `tests/golden.rs`.
//! - **Results agree with queueing theory** where a closed form exists. *Enforced by*
//!   `tests/closed_forms.rs`.
//! - **Memory does not grow with the number of RPCs.** *Enforced by* `tests/memory_bound.rs`.
//!
//! # Examples
//!
//! The p99 of 16 cores at 80 % load, one queue against one queue per core:
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

mod bounds;
mod error;
mod executor;
mod shipped;
mod system;
mod model;
mod tiers;
mod tenants;
mod load;
mod hottest;
mod calendar;
mod slab;
mod upcoming;
mod world;
mod recursion;
mod tally;
mod interval;
mod settled;
mod experiment;
mod search;
pub mod sizing;
pub mod md1;
pub mod altocumulus;
pub mod memory;
pub mod blocks;
pub mod incast;
pub mod study;
pub mod reproduce;

pub use calendar::Calendar;
pub use error::{LOAD_MAX, SimError};
pub use experiment::{Effort, Estimate, Met, estimate};
pub use interval::Interval;
pub use load::{CLIENTS_MAX, Flows, Load, POPULATION_MAX, Population, Profile, Source};
pub use model::SystemModel;
pub use recursion::lanes;
pub use search::{Bracket, Highest, LoadAtSlo, Objective, SearchEnd, highest_load, load_at_objective, load_at_slo};
pub use system::growth::mesh_hops;
pub use system::{
    Altocumulus, Balance, Batch, CORES_TOTAL_MAX, Calls, Costs, Hedge, HedgeAfter, Host, Interface, Preemption, Router,
    Speeds, System, Tier, Watch,
};
pub use tally::{
    CoreTime, Depths, Distribution, HostTraffic, LightFlows, Migrations, OfTier, OfType, OverTime, Overheads, SLOTS,
    Slot, Tally,
};
pub use tenants::estimate::{OfTenant, TenantsEstimate};
pub use tenants::{Tenant, Tenants};
pub use tiers::Tiers;
pub use world::{Length, TracedRpc, run, run_with, trace};
