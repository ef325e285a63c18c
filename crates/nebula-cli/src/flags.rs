//! Flags and value syntax shared by several commands.
//!
//! | file | what it holds |
//! |---|---|
//! | `effort` | the amount of simulation, and the number of threads |
//! | `words` | service times, arrivals, mixes, shares, loads and the SLO |
//! | `count` | whole numbers and bytes |
//! | `key` | reading a key file |
//! | `servers` | the servers of a client |

mod count;
mod effort;
mod key;
mod servers;
mod words;

pub(crate) use crate::output::Format;
pub(crate) use count::{bytes, count};
pub(crate) use effort::EffortArgs;
pub(crate) use key::read as read_keys;
pub(crate) use servers::ServerList;
pub(crate) use words::{Loads, Slo, arrivals, mix, service};
