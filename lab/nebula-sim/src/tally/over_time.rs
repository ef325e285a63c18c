//! Latencies by the time within a changing load's period.

use super::distribution::Distribution;
use crate::interval::cells::Cells;
use hdrhistogram::Histogram;
use nebula_nic::{Span, Timestamp};
use std::fmt;

/// The RPCs of each part of the period, by their intended send time.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    period: Span,
    slots: Vec<Slot>,
}

/// The RPCs of one part of the period.
#[derive(Clone, PartialEq)]
pub struct Slot {
    /// Of RPCs served, in picoseconds, to a hundredth to save memory.
    latency: Histogram<u64>,
    /// RPCs that their client gave up.
    pub given_up: u64,
}

/// Parts of a period.
pub const SLOTS: usize = 100;

impl OverTime {
    pub(crate) fn new(period: Span) -> Self {
        let latency = Histogram::new_with_bounds(1, 1 << 62, 2).expect("bounds that hdrhistogram allows");
        let slot = Slot { latency, given_up: 0 };
        Self { period, slots: vec![slot; SLOTS] }
    }

    /// The parts of the period, in order.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Counts an RPC sent at `sent`; without a latency, its client gave up.
    pub(crate) fn note(&mut self, sent: Timestamp, latency_ps: Option<u64>) {
        let within = u128::from(sent.as_ps() % self.period.as_ps()) * SLOTS as u128 / u128::from(self.period.as_ps());
        let slot = &mut self.slots[within as usize];
        match latency_ps {
            Some(latency_ps) => slot.latency.saturating_record(latency_ps),
            None => slot.given_up += 1,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (slot, more) in self.slots.iter_mut().zip(&other.slots) {
            slot.latency.add(&more.latency).expect("both have the same bounds");
            slot.given_up += more.given_up;
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot {{ sent: {}, p99_ps: {} }}", self.sent(), self.p99_ps())
    }
}

impl Slot {
    /// RPCs that were sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.latency.len() + self.given_up
    }

    pub(crate) fn by_cell(&self) -> Cells {
        let mut cells = Cells::default();
        for recorded in self.latency.iter_recorded() {
            let latency_ps = self.latency.median_equivalent(recorded.value_iterated_to());
            cells.push(Distribution::cell_of(latency_ps), recorded.count_since_last_iteration());
        }
        cells
    }

    /// The p99 in picoseconds, an RPC given up counted as infinite; 0 without RPCs.
    #[must_use]
    pub fn p99_ps(&self) -> f64 {
        let sent = self.sent();
        let rank = 0.99 * sent as f64 / self.latency.len() as f64;
        match sent {
            0 => 0.0,
            _ if rank > 1.0 => f64::INFINITY,
            _ => self.latency.median_equivalent(self.latency.value_at_quantile(rank)) as f64,
        }
    }
}
