//! What became of the packets.

use crate::net::{Side, Unsent};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What became of the packets that came, as the engine of a [packet
/// server](crate::Server::serve_packets) counts it.
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

/// What became of the packets that came. When nothing is inside, `received` is the sum of all
/// others but `lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketStatus {
    /// Packets that came, by [`Side::index`](crate::net::Side::index).
    pub received: [u64; 2],
    /// Packets that left, by the side at which they did.
    pub sent: [u64; 2],
    /// Packets that were refused by admission control.
    pub refused: u64,
    /// Packets that the service dropped.
    pub dropped: u64,
    /// Packets whose handler panicked, or ended without an answer.
    pub failed: u64,
    /// Packets whose next hop was not known.
    pub no_neighbor: u64,
    /// Packets that could not leave because all frames were on their way.
    pub no_room: u64,
    /// Packets that the service made longer than the device sends.
    pub too_long: u64,
    /// Frames that came while the device had no room for them, or that were too long for it: they
    /// are in no other count.
    pub lost: u64,
}

impl PacketStatus {
    /// Packets that came and have neither left nor been dropped.
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

/// Adds to a count that one thread writes.
fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

impl PacketCounters {
    pub(super) fn received(&self, side: Side) {
        add(&self.received[side.index()]);
    }

    /// A frame was handed to the device.
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

    /// As they are now: while packets are inside, not all of one moment.
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
