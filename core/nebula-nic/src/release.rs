//! Station 10: *what is returned when the handler is done?*
//!
//! One message from the core to the back end: the slots of the RPC and, with them, the core's
//! credit. The back end checks it ([`Backend::handle_free`](crate::Backend::handle_free)): `tail`
//! may advance, and the credit lets the next RPC be dispatched.
//!
//! Next: station 11, `requester` of the crate `nebula-requester`.

use crate::id::{CoreId, SlotRange};

/// What a core returns to the back end when it is done with an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The core, for its credit.
    pub core: CoreId,
    /// The RPC's slots.
    pub slots: SlotRange,
}
