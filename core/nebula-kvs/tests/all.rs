//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula-kvs --test all NAME::` runs those of one file. Cargo.toml lists the
//! programs beside it.
#![cfg(not(loom))]

mod adopt;
mod eviction;
mod items;
mod items_random;
mod limits;
mod model;
mod model_random;
mod partitions;
mod protocol;
mod remote;
mod reuse;
mod scan_protocol;
mod short_histories;
mod snapshot;
mod stress;
mod touch;
