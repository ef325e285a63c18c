//! How a client over shared memory makes a server look at its ring that does not do so by itself.

use crate::transport::shm::handshake::Welcome;
use crate::transport::shm::listener::client_index;
use nebula_nic::NodeId;
use nebula_sys::doorbells::Doorbells;
use nebula_sys::shared::{ReadOnlyMemory, SharedError, SharedMemory};
use nebula_sys::sync::{Ordering, fence};
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd, OwnedFd};

const WAKE_UP: [u8; 1] = [1];

/// The doorbell of a client, and the server's status page.
#[derive(Debug)]
pub(super) struct Doorbell {
    doorbells: SharedMemory,
    clients: u32,
    client: u32,
    status: ReadOnlyMemory,
    asleep_word: usize,
}

impl Doorbell {
    pub(super) fn open(welcome: &Welcome, doorbells: OwnedFd, status: &OwnedFd) -> Result<Self, SharedError> {
        let bytes = (8 * nebula_sys::doorbells::words_of(welcome.doorbells)).next_multiple_of(64);
        let mut doorbells = SharedMemory::open(doorbells, bytes)?;
        doorbells.close_fd();
        Ok(Self {
            doorbells,
            clients: welcome.doorbells,
            client: u32::try_from(client_index(NodeId(welcome.snid))).unwrap_or(u32::MAX),
            status: ReadOnlyMemory::open(status, welcome.status_bytes as usize)?,
            asleep_word: welcome.asleep_word as usize,
        })
    }

    /// Rings, and wakes the engine over `socket` if it sleeps.
    pub(super) fn ring(&self, socket: impl AsFd) {
        if let Some(doorbells) = Doorbells::new(self.doorbells.words(), self.clients) {
            doorbells.ring(self.client);
        }
        // Orders the request before the look; pairs with the fence of `Asleep::arm`.
        fence(Ordering::SeqCst);
        if self.status.load(self.asleep_word) != Some(0) {
            // If the socket's buffer is full, it contains a wake-up already.
            let _ = send(socket, &WAKE_UP, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}
