//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula-requester --test all NAME::` runs those of one file. Cargo.toml lists the
//! programs beside it.

mod failover;
mod flow;
mod requester;
mod retransmit;
mod servers;
