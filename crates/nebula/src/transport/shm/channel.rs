//! One client's ring, as the server holds it.

use crate::rpc::slot::{Geometry, Mark, SlotHeader, Slots};
use nebula_nic::{NackReason, NodeId};
use nebula_sys::shared::SharedMemory;
use std::os::fd::OwnedFd;

/// A ring that the server created for a client, and the socket that tells when the client is gone.
///
/// In one cache line, of which each look at the ring reads all but the socket.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Channel {
    snid: NodeId,
    geometry: Geometry,
    memory: SharedMemory,
    socket: OwnedFd,
}

const _: () = assert!(size_of::<Channel>() == 64);

impl Channel {
    pub(crate) fn new(snid: NodeId, geometry: Geometry, memory: SharedMemory, socket: OwnedFd) -> Self {
        Self { snid, geometry, memory, socket }
    }

    pub(crate) fn snid(&self) -> NodeId {
        self.snid
    }

    /// The ring.
    #[inline(always)]
    pub(crate) fn slots(&self) -> Slots<'_> {
        Slots::new(self.memory.words(), self.geometry)
    }

    /// Answers the RPC at `position` with a NACK.
    #[inline]
    pub(crate) fn nack(&self, position: u32, reason: NackReason) {
        let extra = u32::from(reason.code());
        self.slots().publish(position, SlotHeader { mark: Mark::Nack, pkt_idx: 0, span: 1, rpc_bytes: 0, extra });
    }

    /// Cuts the connection: both sides see the socket close.
    pub(crate) fn disconnect(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}
