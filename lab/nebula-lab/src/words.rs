//! Flags and value syntax shared by several questions.
//!
//! | file | what it holds |
//! |---|---|
//! | `effort` | the amount of simulation, and the number of threads |
//! | `values` | service times, arrivals, mixes, shares, loads and the SLO |
//! | `count` | whole numbers and bytes |
//! | `parse` | a question from its words, and the error in one line |

mod count;
mod effort;
mod parse;
mod values;

pub use count::{bytes, count};
pub use effort::EffortArgs;
pub use parse::in_one_line;
pub(crate) use parse::parsed;
pub(crate) use values::share;
pub use values::{Loads, Slo, arrivals, mix, service};
