//! Flags, and spellings of their values, that several commands have.
//!
//! | file | what it holds |
//! |---|---|
//! | `effort` | how much is simulated, and on how many threads |
//! | `words` | service times, arrivals, shares, loads and the SLO |
//! | `count` | whole numbers and bytes |
//! | `key` | the key of a file |

mod count;
mod effort;
mod key;
mod words;

pub(crate) use crate::output::Format;
pub(crate) use count::{bytes, count};
pub(crate) use effort::EffortArgs;
pub(crate) use key::read as read_key;
pub(crate) use words::{Loads, Slo, arrivals, service};
