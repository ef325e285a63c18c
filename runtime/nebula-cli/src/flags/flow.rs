//! The flow control of a client, as `--flow` names it.

use nebula::FlowKind;

use super::ServerList;
use nebula_ui::output::Failure;

/// The flow control for clients of `servers`. Over shared memory there is nothing to choose, so
/// `--flow` is an error.
pub(crate) fn of(given: Option<FlowKind>, servers: &ServerList) -> Result<FlowKind, Failure> {
    match given {
        Some(_) if servers.has_shared_memory() => Err(Failure::bad_input(
            "--flow: over shared memory the ring is the bound: leave it out, or give udp:// or tcp:// to --endpoint",
        )),
        given => Ok(given.unwrap_or_default()),
    }
}
