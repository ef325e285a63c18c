//! Flags and value syntax shared by several questions.
//!
//! | file | what it holds |
//! |---|---|
//! | `effort` | the amount of simulation, and the number of threads |
//! | `values` | shares, loads and the SLO |
//! | `parse` | a question from its words, and the error in one line |
//!
//! `nebula-ui` has those that the other programs read too: numbers, bytes, service times, arrivals
//! and mixes.

mod effort;
mod parse;
mod values;

pub use effort::EffortArgs;
pub(crate) use parse::parsed;
pub(crate) use values::share;
pub use values::{Loads, Slo};

pub use nebula_ui::words::{arrivals, bytes, count, in_one_line, mix, service};
