//! An RPC within a server.

use crate::tally::overheads::Overheads;
use crate::world::servers::{Ended, InFlight};
use nebula_nic::schedule::RpcType;
use nebula_nic::{RpcKey, Timestamp};

#[derive(Clone, Copy, Debug)]
pub(super) struct Rpc {
    pub(super) key: RpcKey,
    pub(super) kind: RpcType,
    pub(super) known: InFlight,
    pub(super) arrived: Timestamp,
    pub(super) remaining_ps: u64,
    /// Time that it waited for its first begin, if that has come.
    pub(super) queued_ps: Option<u64>,
    pub(super) overheads: Overheads,
}

impl Rpc {
    #[inline]
    pub(super) fn ended(self) -> Ended {
        let Self { key, known, queued_ps, overheads, .. } = self;
        Ended { rpc: key, core: None, served: known, queued_ps: queued_ps.unwrap_or(0), overheads }
    }
}
