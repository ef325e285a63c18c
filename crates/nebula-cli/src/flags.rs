//! Flags and value syntax shared by several commands.
//!
//! | file | what it holds |
//! |---|---|
//! | `key` | reading a key file |
//! | `servers` | the servers of a client |

mod key;
mod servers;

pub(crate) use crate::output::Format;
pub(crate) use key::read as read_keys;
pub(crate) use nebula_lab::words::{Loads, Slo, arrivals, bytes, count, mix, service};
pub(crate) use servers::ServerList;
