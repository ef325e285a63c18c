//! All tests of this crate that need no separate process, as one program, so that they are compiled
//! and linked once.
//!
//! `cargo test -p nebula-requester --test all NAME::` runs those of one file. Cargo.toml lists the
//! other programs.

mod failover;
mod flow;
mod requester;
mod retransmit;
mod servers;
