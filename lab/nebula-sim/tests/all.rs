//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula-sim --test all NAME::` runs those of one file. Cargo.toml lists the
//! programs beside it.

mod altocumulus;
mod altocumulus_training;
mod blocks;
mod closed_forms;
mod darc;
mod evaluation;
mod golden;
mod growth;
mod hedged;
mod hosted;
mod incast;
mod intervals;
mod memory;
mod over_time;
mod own_policy;
mod preemptive;
mod properties;
mod queues;
mod reproduce;
mod routed;
mod sizing;
mod skew;
mod speeds;
mod systems;
mod tenants;
mod tiers;
