//! Station 10: *what is returned when the handler is done?*
//!
//! One message from the core to the back end returns the RPC's slots and with them the core's
//! credit. The back end checks it ([`Backend::handle_free`](crate::Backend::handle_free)); then
//! `tail` may advance, and the next RPC can be dispatched.
//!
//! Next: station 11, `requester` of the crate `nebula-requester`.

use crate::id::{CoreId, SlotRange};

/// The message of a core that is done with an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The core, for its credit.
    pub core: CoreId,
    /// The RPC's slots.
    pub slots: SlotRange,
}
