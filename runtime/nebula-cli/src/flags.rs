//! Flags and value syntax shared by several commands.
//!
//! | file | what it holds |
//! |---|---|
//! | `servers` | the servers of a client |
//! | `flow` | flow control of a client |
//! | `slo_of` | bounds for single operations |

mod flow;
mod servers;
mod slo_of;

pub(crate) use flow::of as flow;
pub(crate) use nebula_ops::key_file::read as read_keys;
pub(crate) use nebula_ui::output::Format;
pub(crate) use nebula_ui::words::{bytes, count, mix};
pub(crate) use servers::ServerList;
pub(crate) use slo_of::SloOf;
