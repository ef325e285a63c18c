//! All tests of this crate that need no separate process, as one program, so that they are compiled
//! and linked once.
//!
//! `cargo test -p nebula-nic --test all NAME::` runs those of one file. Cargo.toml lists the other
//! programs.

mod backend_histories;
mod backend_random;
mod burst;
mod by_type;
mod decides;
mod decision_text;
mod fair_share;
mod fair_tenants;
mod flow_order;
mod frontend;
mod group;
mod host_watch;
mod manager;
mod one_sided;
mod packets;
mod places;
mod pull;
mod reassembler;
mod recv_buffer;
mod retention;
mod schedule_darc;
mod schedule_queues;
mod script;
mod ledger;
mod lending;
mod support;
mod wire;
