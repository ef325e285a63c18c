//! Caches, mesh and memory of a many-core chip as a timing model: when does an agent have a block, and who supplied it?
//!
//! It knows no RPC, no packet and no queue of them: a [`Block`] is 64 bytes by number, an agent is a core or the NIC at
//! the chip's edge, and a [`Label`] is a small number that the caller counts traffic by. "Buffers stay in the cache" is
//! then a result and not an assumption.
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
//! | what does an access go through? | [`system`] |
//! | what is in a core's own cache, what in the shared one? | `l1`, `llc`, `line` |
//! | how far is it, and how busy is the way? | `mesh`, `calendar` |
//! | how long does memory take? | `dram` |
//! | what moved, and what happened? | [`traffic`], [`counters`] |
//!
//! Times are [`u64`] picoseconds of the caller's clock. An access takes effect when it is called and answers when its
//! agent has the block; what is ahead (a bus, a link, a bank) is reserved. Calls come in the order of their times, or
//! nearly: some tens of nanoseconds backwards change a wait, never a count.
//!
//! # Invariants
//!
//! - **Deterministic**: no clock, no randomness, no order of a hash. *Enforced by* the signatures and
//!   `tests/determinism.rs`.
//! - **Nothing is allocated after construction.** *Enforced by* `tests/no_allocation.rs`.
//! - **What moves adds up**: every miss fetches once, every dirty block is written back once or is dirty still.
//!   *Enforced by* `tests/conservation.rs`.
//! - **No bus moves more than it can.** *Enforced by* `tests/bandwidth.rs`.

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
pub use system::MemorySystem;
pub use traffic::{Cause, Traffic};
