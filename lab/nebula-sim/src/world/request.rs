//! An RPC as a client sends it.

use crate::world::identity::Identity;
use nebula_nic::Timestamp;
use nebula_workload::TypeId;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) service_ps: u64,
    pub(super) kind: TypeId,
    pub(super) sent: Timestamp,
    pub(super) ticket: u32,
    pub(super) client: u32,
    pub(super) identity: Identity,
}

impl Request {
    pub(super) const fn flow(&self) -> u32 {
        self.identity.flow
    }
}
