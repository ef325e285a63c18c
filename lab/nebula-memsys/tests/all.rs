//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula-memsys --test all NAME::` runs those of one file. Cargo.toml lists the
//! programs beside it.

mod bad_config;
mod bandwidth;
mod closed_cases;
mod coherence;
mod conservation;
mod determinism;
mod latency;
mod machines;
mod naive_model;
mod try_access;
