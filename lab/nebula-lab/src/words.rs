//! Flags and value syntax shared by several questions.
//!
//! `effort` has the amount of simulation and of threads, `values` shares, loads and the SLO,
//! `parse` reads a question. `nebula-ui` has the syntax that other programs share: numbers, bytes,
//! service times, arrivals and mixes.

mod effort;
mod parse;
mod shipped;
mod values;

pub use effort::EffortArgs;
pub(crate) use parse::parsed;
pub(crate) use shipped::shipped_or_file;
pub use values::{Loads, Slo};
pub(crate) use values::{share, steps};

pub use nebula_ui::words::{arrivals, bytes, count, in_one_line, mix, service};
