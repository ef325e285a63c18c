//! All tests of this crate that need no separate process, as one program, so that they are compiled
//! and linked once.
//!
//! `cargo test -p nebula-kvs --test all NAME::` runs those of one file. Cargo.toml lists the other
//! programs.
#![cfg(not(loom))]

mod adopt;
mod eviction;
mod items;
mod items_random;
mod kept;
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
