//! Lines between cores and NIC.

use std::ops::AddAssign;

/// Counts over a whole run, including the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTraffic {
    /// Lines that cores wrote for the NIC.
    pub lines: u64,
    /// Notices to the NIC, by a doorbell or an invalidation.
    pub told: u64,
    /// Reads by the NIC, including those that found nothing.
    pub reads: u64,
    /// Changes between invalidations and polling, of all flows.
    pub changes: u64,
}

impl HostTraffic {
    /// Reads by the NIC for each line that it got; `None` without a line.
    #[must_use]
    pub fn reads_per_line(&self) -> Option<f64> {
        (self.lines > 0).then(|| self.reads as f64 / self.lines as f64)
    }
}

impl AddAssign for HostTraffic {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.told += other.told;
        self.reads += other.reads;
        self.changes += other.changes;
    }
}
