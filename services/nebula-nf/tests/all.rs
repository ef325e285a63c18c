//! The tests of this crate, as one program.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

mod balancer;
mod chain;
mod firewall;
mod frames;
mod nat;
mod packet;
mod table;
