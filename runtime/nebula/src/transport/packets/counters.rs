//! Counters of forwarded packets, by how they ended.

use crate::net::{Side, Unsent};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of the packets of a [packet server](crate::Server::serve_packets), as its engine
/// maintains them.
#[derive(Debug, Default)]
pub struct PacketCounters {
    received: [AtomicU64; 2],
    sent: [AtomicU64; 2],
    refused: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    no_neighbor: AtomicU64,
    no_room: AtomicU64,
    too_long: AtomicU64,
    lost: AtomicU64,
}

/// A copy of [`PacketCounters`]. With no packet inside, `received` is the sum of the others,
/// without `lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketStatus {
    /// Packets received, by [`Side::index`](crate::net::Side::index).
    pub received: [u64; 2],
    /// Packets sent, by the side at which they left.
    pub sent: [u64; 2],
    /// Packets that were refused by admission control.
    pub refused: u64,
    /// Packets that the service dropped.
    pub dropped: u64,
    /// Packets whose handler panicked, or ended without an answer.
    pub failed: u64,
    /// Packets whose next hop was unknown.
    pub no_neighbor: u64,
    /// Packets that could not leave because all frames were in use.
    pub no_room: u64,
    /// Packets that the service made longer than the device can send.
    pub too_long: u64,
    /// Frames that the device lost for lack of room, or because they were too long. No other
    /// counter contains them.
    pub lost: u64,
}

impl PacketStatus {
    /// Packets that were received and have not ended.
    #[must_use]
    pub fn inside(&self) -> u64 {
        let ended = self.sent.iter().sum::<u64>()
            + self.refused
            + self.dropped
            + self.failed
            + self.no_neighbor
            + self.no_room
            + self.too_long;
        self.received.iter().sum::<u64>().saturating_sub(ended)
    }
}

/// Increments a counter that one thread writes.
fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

impl PacketCounters {
    pub(super) fn received(&self, side: Side) {
        add(&self.received[side.index()]);
    }

    pub(super) fn sent(&self, side: Side, result: Result<(), Unsent>) {
        add(match result {
            Ok(()) => &self.sent[side.index()],
            Err(Unsent::NoNeighbor) => &self.no_neighbor,
            Err(Unsent::NoRoom) => &self.no_room,
            Err(Unsent::TooLong) => &self.too_long,
        });
    }

    pub(super) fn refused(&self) {
        add(&self.refused);
    }

    pub(super) fn dropped(&self) {
        add(&self.dropped);
    }

    pub(super) fn failed(&self) {
        add(&self.failed);
    }

    pub(super) fn set_lost(&self, lost: u64) {
        self.lost.store(lost, Relaxed);
    }

    /// A copy of the counters, not of one moment while packets are inside.
    #[must_use]
    pub fn read(&self) -> PacketStatus {
        let all = |counts: &[AtomicU64; 2]| [counts[0].load(Relaxed), counts[1].load(Relaxed)];
        PacketStatus {
            received: all(&self.received),
            sent: all(&self.sent),
            refused: self.refused.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            no_neighbor: self.no_neighbor.load(Relaxed),
            no_room: self.no_room.load(Relaxed),
            too_long: self.too_long.load(Relaxed),
            lost: self.lost.load(Relaxed),
        }
    }
}
