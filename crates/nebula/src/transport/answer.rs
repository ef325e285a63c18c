//! The answer to one RPC where the transport has no room of the client's to write it into: a buffer that goes with the RPC to its worker
//! and comes back with the slots.

use crate::engine::reply::Fault;
use crate::net::Route;
use nebula_nic::{EntryId, NackReason, Timestamp, TransferId};

/// No deadline.
const NEVER: Timestamp = Timestamp::from_ps(u64::MAX);

/// What became of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nobody has answered it.
    Open,
    /// The reply has been written.
    Replied,
    Faulted(Fault),
    Refused(NackReason),
}

/// Who asked, how long the answer is of use, and the answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) route: Route,
    /// The longest datagram that the client takes.
    pub(crate) datagram_bytes: u16,
    pub(crate) tid: TransferId,
    /// The RPC, as the transport remembers it.
    pub(crate) entry: EntryId,
    /// From then on nobody waits for the answer; the end of time for none.
    pub(crate) deadline: Timestamp,
    pub(crate) fate: Fate,
    /// Slots of the request while packets of it are still to come, then 0.
    pub(crate) incomplete_slots: u32,
    /// Longest reply.
    capacity: u32,
    bytes: Vec<u8>,
}

impl Answer {
    /// An empty buffer for replies of up to `capacity` bytes; it grows to what is written.
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            route: Route { peer: std::net::SocketAddr::from(([0; 4], 0)), local: None },
            datagram_bytes: 0,
            tid: TransferId(0),
            entry: EntryId(0),
            deadline: NEVER,
            fate: Fate::Open,
            incomplete_slots: 0,
            capacity,
            bytes: Vec::with_capacity(1024.min(capacity as usize)),
        }
    }

    /// The buffer for another RPC.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.bytes.clear();
        self.fate = Fate::Open;
        self.incomplete_slots = 0;
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Why nobody wants the answer any more, if that is so. Asks for the time only where there is a deadline.
    #[inline(always)]
    pub(crate) fn is_over(&self, now: impl FnOnce() -> Timestamp) -> Option<NackReason> {
        match self.fate {
            Fate::Refused(reason) => Some(reason),
            _ if self.deadline != NEVER && self.deadline <= now() => Some(NackReason::Expired),
            _ => None,
        }
    }

    /// `bytes` bytes at `offset`, to be written; the reply reaches at least their end.
    #[inline(always)]
    pub(crate) fn room(&mut self, offset: usize, bytes: usize) -> &mut [u8] {
        let end = offset + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[offset..end]
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if offset == self.bytes.len() {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.room(offset, bytes.len()).copy_from_slice(bytes);
        }
    }

    /// The reply.
    #[inline(always)]
    pub(crate) fn reply(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes `bytes` bytes the reply.
    #[inline(always)]
    pub(crate) fn publish(&mut self, bytes: usize) {
        self.bytes.truncate(bytes);
        self.fate = Fate::Replied;
    }
}
