//! Flags and value syntax shared by several commands.
//!
//! | file | what it holds |
//! |---|---|
//! | `key` | reading a key file |
//! | `servers` | the servers of a client |
//! | `flow` | flow control of a client |
//! | `slo_of` | bounds for single operations |

mod flow;
mod key;
mod servers;
mod slo_of;

pub(crate) use flow::of as flow;
pub(crate) use key::read as read_keys;
pub(crate) use nebula_ui::output::Format;
pub(crate) use nebula_ui::words::{bytes, count, mix};
pub(crate) use servers::ServerList;
pub(crate) use slo_of::SloOf;
