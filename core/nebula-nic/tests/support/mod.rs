//! Naive models, the operations that drive them and the real machines, and the walk through all
//! short histories.
//!
//! Each test binary, and any fuzz target that includes this folder by path, uses a part of it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of the support")]

pub mod histories;
pub mod interval_buffer;
pub mod model;
pub mod op;
pub mod pair;
pub mod reach;
pub mod regions;
pub mod retention;
