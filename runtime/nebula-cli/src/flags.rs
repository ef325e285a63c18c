//! Flags and value syntax shared by several commands.

mod flow;
mod servers;
mod slo_of;

pub(crate) use flow::of as flow;
pub(crate) use nebula_ops::key_file::read as read_keys;
pub(crate) use nebula_ui::output::Format;
pub(crate) use nebula_ui::words::{bytes, count, mix};
pub(crate) use servers::ServerList;
pub(crate) use slo_of::SloOf;
