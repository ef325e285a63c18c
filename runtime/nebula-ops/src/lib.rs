//! What a program that serves needs around its service.
//!
//! | question | module |
//! |---|---|
//! | which flags set a server? | [`server_args`], [`key_file`] |
//! | how does a service begin, live and end? | [`life`] |
//! | which settings does a file give? | [`life`]: `--config` |
//! | what does it say over HTTP? | `metrics` |
//! | what does a running server say of itself? | [`observe`] |
//! | how much memory may it take? | [`memory`] |
//! | whose fault is an error, and so which exit code? | [`or_fail`] |
//!
//! `nebula serve` and the programs of `services/` are made of it.

#![forbid(unsafe_code)]

pub mod key_file;
pub mod life;
pub mod memory;
mod metrics;
pub mod observe;
pub mod or_fail;
pub mod server_args;
