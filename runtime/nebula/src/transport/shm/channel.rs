//! One client's ring, as the server holds it.

use crate::rpc::cancel::{Ring, ShareRing};
use crate::rpc::slot::{Geometry, Mark, SlotHeader, Slots};
use nebula_nic::{NackReason, NodeId};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::AtomicU64;
use nebula_sys::wake::SleepWord;
use rustix::net::{SendFlags, send};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What the server sends to a client that sleeps.
const WAKE_UP: [u8; 1] = [1];

/// Bytes behind the ring of a client that may sleep: the line of the word that says whether it
/// does.
pub(crate) const SLEEP_BYTES: usize = 64;

/// Bytes of the memory that a client shares with the server.
pub(crate) fn shared_bytes(geometry: Geometry, may_sleep: bool) -> usize {
    geometry.bytes() + if may_sleep { SLEEP_BYTES } else { 0 }
}

/// The word behind the ring that says whether the client sleeps.
pub(crate) fn sleep_word(memory: &SharedMemory, geometry: Geometry) -> &AtomicU64 {
    &memory.words()[geometry.bytes() / 8]
}

/// A ring that the server created for a client, and the socket that tells when the client is gone.
///
/// In one cache line, of which each look at the ring reads all but the socket.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Channel {
    snid: NodeId,
    geometry: Geometry,
    memory: SharedMemory,
    /// The listener watches it.
    socket: Arc<OwnedFd>,
    /// Whether the client may sleep.
    may_sleep: bool,
}

const _: () = assert!(size_of::<Channel>() == 64);

impl Ring for Channel {
    fn slots(&self) -> Slots<'_> {
        self.slots()
    }
}

impl ShareRing for Arc<Channel> {
    fn share(&self) -> Arc<dyn Ring> {
        self.clone()
    }
}

impl Channel {
    pub(crate) fn new(snid: NodeId, geometry: Geometry, memory: SharedMemory, socket: Arc<OwnedFd>) -> Self {
        let may_sleep = memory.bytes() > geometry.bytes();
        Self { snid, geometry, memory, socket, may_sleep }
    }

    pub(crate) fn snid(&self) -> NodeId {
        self.snid
    }

    /// The ring.
    #[inline(always)]
    pub(crate) fn slots(&self) -> Slots<'_> {
        Slots::new(self.memory.words(), self.geometry)
    }

    /// Room for the reply to an RPC that spans `span` slots, in bytes.
    pub(crate) fn room(&self, span: u32) -> u32 {
        span * self.geometry.mtu_bytes
    }

    /// Answers the RPC at `position` with a NACK.
    #[inline]
    pub(crate) fn nack(&self, position: u32, reason: NackReason) {
        let extra = u32::from(reason.code());
        self.slots().publish(position, SlotHeader { mark: Mark::Nack, pkt_idx: 0, span: 1, rpc_bytes: 0, extra });
    }

    /// Wakes the client if it sleeps. To be called after answers were published, once for all that
    /// were at a time.
    ///
    /// # Cost
    ///
    /// A look at a flag. For a client that may sleep, a fence and a load; a system call, which does
    /// not wait, if it does sleep.
    #[inline(always)]
    pub(crate) fn wake_sleeper(&self) {
        if self.may_sleep {
            self.wake_if_asleep();
        }
    }

    #[inline(never)]
    fn wake_if_asleep(&self) {
        if SleepWord::new(sleep_word(&self.memory, self.geometry)).take() {
            // Where there is no room, a wake-up waits there already.
            let _ = send(&self.socket, &WAKE_UP, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    /// Cuts the connection: both sides see the socket close.
    pub(crate) fn disconnect(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}
