//! Caches, mesh and DRAM of a chip as a timing model: when does an agent have a block, from where?
//!
//! The model knows no RPCs, packets or queues: a [`Block`] is 64 bytes with a number, an agent is a
//! core or the NIC at the chip's edge, and a [`Label`] is a number under which the caller counts
//! traffic. So "buffers stay in the cache" is a result, not an assumption.
//!
//! ```text
//!   core ── L1 ──┐                        ┌── channel ── rank ── bank (open row)
//!   core ── L1 ──┼── mesh ── LLC bank ────┤
//!   NIC ─ cache ─┘           (directory)  └── channel …          write queue
//! ```
//!
//! | question | module |
//! |---|---|
//! | which machine? | [`config`] |
//! | what does an access traverse? | [`system`] |
//! | what is in a core's own cache, and in the shared one? | `l1`, `llc`, `line` |
//! | how far is it, and how busy are the links? | `mesh`, `calendar` |
//! | how long does memory take? | `dram` |
//! | what moved, and what was counted? | [`traffic`], [`counters`] |
//!
//! Times are [`u64`] picoseconds of the caller's clock. An access takes effect when it is called,
//! reserves what it needs later (a bus, a link, a bank), and returns when its agent has the block.
//! Calls should be in time order; tens of nanoseconds too early change a wait, never a count.
//!
//! # Invariants
//!
//! - **Deterministic**: no clock, no randomness, no hash order. *Enforced by* the signatures and
//!   `tests/determinism.rs`.
//! - **Nothing is allocated after construction.** *Enforced by* `tests/no_allocation.rs`.
//! - **Traffic adds up**: every miss fetches once; every dirty block is written back once or is
//!   still dirty. *Enforced by* `tests/conservation.rs`.
//! - **No bus exceeds its bandwidth.** *Enforced by* `tests/bandwidth.rs`.

#![forbid(unsafe_code)]

pub mod block;
pub mod config;
pub mod error;
mod time;
mod modulus;
mod calendar;
mod l1;
mod line;
mod llc;
mod mesh;
mod dram;
pub mod traffic;
pub mod counters;
pub mod system;

pub use block::{Block, Done, LABELS, Label, Level};
pub use config::{CORES_MAX, DramConfig, L1Config, LlcConfig, MemoryConfig, MeshConfig, WAYS_MAX};
pub use counters::{Counters, DramCounters, Supplied};
pub use error::MemoryConfigError;
pub use system::{MemorySystem, Needs, Reach};
pub use traffic::{Cause, Traffic};
