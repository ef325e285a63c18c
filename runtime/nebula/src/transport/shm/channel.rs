//! One client's ring, at the server.

use crate::rpc::cancel::{Ring, ShareRing};
use crate::rpc::slot::{Geometry, Mark, SlotHeader, Slots};
use crate::transport::shm::handshake::Hello;
use nebula_nic::{NackReason, NodeId};
use nebula_sys::lines::RingMemory;
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_sys::wake::SleepWord;
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

const WAKE_UP: [u8; 1] = [1];

const MORE_BYTES: usize = 64;

/// The memory of a ring and of the line behind it.
pub(crate) fn shared_bytes(geometry: Geometry) -> usize {
    geometry.bytes() + MORE_BYTES
}

/// The word behind the ring that says whether the client sleeps.
pub(crate) fn sleep_word(memory: &RingMemory) -> &AtomicU64 {
    &memory.behind()[0]
}

/// The word behind the ring by which the server says that it looks there only when the client
/// rings: how often it has said so, or 0 while it looks in every turn.
#[inline(always)]
pub(crate) fn quiet_word(memory: &RingMemory) -> &AtomicU64 {
    &memory.behind()[1]
}

/// A ring that the server created for a client, and the socket that reports when the client has
/// left. It fits one cache line: each poll of the ring reads all of it but the socket.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Channel {
    snid: NodeId,
    geometry: Geometry,
    memory: RingMemory,
    /// The listener watches it too.
    socket: Arc<OwnedFd>,
    may_sleep: bool,
    has_doorbell: bool,
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
    pub(crate) fn new(
        snid: NodeId,
        geometry: Geometry,
        memory: SharedMemory,
        socket: Arc<OwnedFd>,
        Hello { sleeps: may_sleep, has_doorbell, .. }: Hello,
    ) -> Self {
        Self { snid, geometry, memory: geometry.of(memory), socket, may_sleep, has_doorbell }
    }

    /// Whether the client rings when it is told that nobody looks at its ring.
    #[inline(always)]
    pub(crate) fn has_doorbell(&self) -> bool {
        self.has_doorbell
    }

    /// Says that the ring is looked at in every turn, or for how many times it is not.
    pub(crate) fn set_quiet(&self, times: u32) {
        quiet_word(&self.memory).store(times.into(), Ordering::Release);
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn snid(&self) -> NodeId {
        self.snid
    }

    #[inline(always)]
    pub(crate) fn slots(&self) -> Slots<'_> {
        Slots::of(&self.memory, self.geometry)
    }

    pub(crate) fn room(&self, span: u32) -> u32 {
        span * self.geometry.mtu_bytes
    }

    #[inline]
    pub(crate) fn nack(&self, position: u32, reason: NackReason) {
        let extra = u32::from(reason.code());
        self.slots().publish(position, SlotHeader { mark: Mark::Nack, pkt_idx: 0, span: 1, rpc_bytes: 0, extra });
    }

    /// Wakes the client if it sleeps. Call it once after one or several answers were published. A
    /// client that may sleep costs a fence and a load, and a system call if it does sleep.
    #[inline(always)]
    pub(crate) fn wake_sleeper(&self) {
        if self.may_sleep {
            self.wake_if_asleep();
        }
    }

    #[inline(never)]
    fn wake_if_asleep(&self) {
        if SleepWord::new(sleep_word(&self.memory)).take() {
            // If the socket's buffer is full, it contains a wake-up already.
            let _ = send(&self.socket, &WAKE_UP, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    /// Cuts the connection: both sides see the socket close.
    pub(crate) fn disconnect(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}
