//! The parts of a serving program around its service.
//!
//! | question | module |
//! |---|---|
//! | which flags set a server? | [`server_args`], [`key_file`] |
//! | how does a service begin, live and end? | [`life`] |
//! | which settings does a file have? | [`life`]: `--config` |
//! | which pages does it serve over HTTP? | `metrics` |
//! | which counters does a running server have? | [`observe`] |
//! | how much memory may it take? | [`memory`] |
//! | which exit code has an error? | [`or_fail`] |
//!
//! `nebula serve` and the programs of `services/` use them.

#![forbid(unsafe_code)]

pub mod key_file;
pub mod life;
pub mod memory;
mod metrics;
pub mod observe;
pub mod or_fail;
pub mod server_args;
