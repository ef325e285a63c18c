//! Measurements of the calls of one tier.

use super::distribution::Distribution;

/// The outcome of a tier's calls, and their cost.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OfTier {
    /// Calls: one for each part of a caller's.
    pub calls: u64,
    /// Second copies that were sent.
    pub copies: u64,
    /// Copies that were cancelled before a core began them.
    pub cancelled: u64,
    /// Copies that no core began because their deadline was over.
    pub late: u64,
    /// NACKs.
    pub nacks: u64,
    /// Time from a call until its first answer, in picoseconds, of calls that were answered.
    pub latency: Distribution,
    /// Core time of copies that a core began, in picoseconds.
    pub busy_ps: u128,
    /// Core time of the copies that answered first, in picoseconds.
    pub useful_ps: u128,
}

impl OfTier {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.copies += other.copies;
        self.cancelled += other.cancelled;
        self.late += other.late;
        self.nacks += other.nacks;
        self.latency.add(&other.latency);
        self.busy_ps += other.busy_ps;
        self.useful_ps += other.useful_ps;
    }

    /// Second copies over calls; 0 without calls.
    #[must_use]
    pub fn copied(&self) -> f64 {
        self.copies as f64 / self.calls.max(1) as f64
    }

    /// NACKs over copies sent; 0 without calls.
    #[must_use]
    pub fn nacked(&self) -> f64 {
        self.nacks as f64 / (self.calls + self.copies).max(1) as f64
    }

    /// The share of the core time that went to copies which did not answer first; 0 without any.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        if self.busy_ps == 0 { 0.0 } else { 1.0 - self.useful_ps.min(self.busy_ps) as f64 / self.busy_ps as f64 }
    }
}
