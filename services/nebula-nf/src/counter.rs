//! A counter: packets and bytes of each flow, and of all together.

use crate::chain::{Direction, DropReason, Function};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::table::{Table, until};
use alloc::vec::Vec;
use nebula_nic::{Span, Timestamp};

/// Flows that one shard knows at most: those beyond are counted in the total alone.
pub const FLOWS_MAX: u32 = 16_384;
/// How long a flow is known that nothing comes of.
const IDLE: Span = Span::from_secs(60);

/// How much there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet.
    fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The function.
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

    /// The flows that are known, in the order of their ends.
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
