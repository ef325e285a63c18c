//! The NIC in hardware: simulates the modules of `hardware/rtl` and compares them with the state
//! machines.
//!
//! [`Rtl`](rtl::Rtl) decides as a [`Backend`](nebula_nic::Backend) does and counts cycles;
//! [`lockstep`] compares the two over random [`traffic`]. `cargo hw rtl` runs all of it.
#![deny(unsafe_code)]

pub mod cycles;
pub mod fuzz;
pub mod lockstep;
#[allow(unsafe_code, reason = "calls into what Verilator wrote")]
pub mod model;
pub mod modules;
pub mod plan;
pub mod replay;
pub mod rng;
pub mod rtl;
pub mod traffic;
