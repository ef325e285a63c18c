//! Latencies of the RPCs of one type of a mix.

use super::distribution::Distribution;

/// Latencies and slowdowns of the RPCs of one type.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OfType {
    /// As [`Tally::latency`](super::Tally::latency).
    pub latency: Distribution,
    /// Latency over service time, in thousandths: 1,000 for an RPC that never waits.
    pub slowdown: Distribution,
}

impl OfType {
    #[inline]
    pub(crate) fn record(&mut self, latency_ps: u64, service_ps: u64) {
        self.latency.record(latency_ps);
        // Saturates at about five hours of latency.
        self.slowdown.record(latency_ps.saturating_mul(1000) / service_ps.max(1));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        self.slowdown.add(&other.slowdown);
    }
}
