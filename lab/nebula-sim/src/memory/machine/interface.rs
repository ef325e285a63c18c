//! The state of the network interface.

use crate::memory::chance::Chance;
use crate::memory::model::MemoryModel;
use nebula_nic::{Span, Timestamp};
use nebula_workload::{ArrivalProcess, Rate, Rng, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    pub(crate) number: u64,
    /// When the last of those made so far ends.
    pub(crate) ready: Timestamp,
}

pub(crate) struct Ni {
    pub(crate) arrivals: ArrivalProcess,
    pub(crate) arrival_rng: Rng,
    /// Time from an RPC's first packet to its last.
    pub(crate) packets: Span,
    pub(super) llc: Llc,
    /// RPCs whose ready time is known, ordered by it.
    pub(crate) coming: BinaryHeap<Reverse<(Timestamp, u64)>>,
}

pub(crate) struct Llc {
    pub(crate) hit: Chance,
    pub(crate) ni_rng: Rng,
    pub(crate) core_rng: Rng,
}

impl Llc {
    #[inline]
    pub(crate) fn hits_ni(&mut self) -> bool {
        self.hit.happens(self.ni_rng.next_u64())
    }

    /// Whether the block that a core's copy evicts is clean.
    #[inline]
    pub(crate) fn hits_core(&mut self) -> bool {
        self.hit.happens(self.core_rng.next_u64())
    }
}

impl Ni {
    pub(crate) fn new(model: &MemoryModel, hit: Chance, rate: Rate, packet_gap: Span, seed: Seed) -> Self {
        Self {
            arrivals: model.arrivals().at(rate),
            arrival_rng: seed.stream("arrivals"),
            packets: packet_gap * u64::from(model.blocks() - 1),
            llc: Llc { hit, ni_rng: seed.stream("ni dice"), core_rng: seed.stream("core dice") },
            coming: BinaryHeap::new(),
        }
    }
}
