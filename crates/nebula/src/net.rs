//! The environment of a `udp://` transport: a network, a clock, and random bytes.
//!
//! The kernel's sockets are one [`Wire`]; a simulated network is another. Server and client are the same on both. On a simulated network
//! with [`Time::Manual`] they are deterministic, and each run can be repeated.

mod wire;
mod kernel;
pub(crate) mod xdp;
mod time;
mod environment;

pub use environment::Environment;
pub(crate) use environment::random_bytes;
pub use kernel::{KernelWire, SAFE_DATAGRAM_BYTES};
pub use nebula_sys::udp::DropRule;
pub use time::Time;
pub(crate) use time::Watch;
pub use wire::{Route, Wire};
pub use xdp::{XdpWire, datagram_in};
