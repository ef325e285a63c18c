//! Counts packets and bytes, of each flow and in total.

use crate::chain::{Direction, DropReason, Function};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::table::{Table, until};
use alloc::vec::Vec;
use nebula_nic::{Span, Timestamp};

/// The most flows of one shard: further ones count only in the total.
pub const FLOWS_MAX: u32 = 16_384;
/// An idle flow is forgotten after this time.
const IDLE: Span = Span::from_secs(60);

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The function that counts.
#[derive(Clone, Debug)]
pub struct Counter {
    total: Count,
    flows: Table<Flow, Count>,
}

impl Counter {
    /// A counter that knows at most `flows_max` flows at once.
    #[must_use]
    pub fn new(flows_max: u32) -> Self {
        Self { total: Count::default(), flows: Table::new(flows_max) }
    }

    /// All packets.
    #[must_use]
    pub const fn total(&self) -> Count {
        self.total
    }

    /// The flows known, in the order of their ends.
    #[must_use]
    pub fn flows(&self) -> Vec<(Flow, Count)> {
        self.flows.iter().map(|(&flow, &count)| (flow, count)).collect()
    }
}

impl Function for Counter {
    fn handle(&mut self, now: Timestamp, _: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason> {
        self.total.add(packet.bytes());
        let flow = *packet.flow();
        let mut count = self.flows.get(now, flow).map_or_else(Count::default, |(_, count)| *count);
        count.add(packet.bytes());
        let _ = self.flows.insert(now, (flow, count), until(now, IDLE));
        Ok(())
    }

    fn counter(&self) -> Option<&Counter> {
        Some(self)
    }
}
