//! An RPC as a client sends it.

use crate::world::identity::Identity;
use nebula_nic::Timestamp;
use nebula_workload::TypeId;

/// An RPC as its client knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) service_ps: u64,
    pub(super) kind: TypeId,
    /// When the client meant to send it.
    pub(super) sent: Timestamp,
    /// The key that a router uses for it.
    pub(super) ticket: u32,
    /// The client, in a closed loop.
    pub(super) client: u32,
    pub(super) identity: Identity,
}

impl Request {
    /// The flow that it belongs to.
    pub(super) const fn flow(&self) -> u32 {
        self.identity.flow
    }
}
