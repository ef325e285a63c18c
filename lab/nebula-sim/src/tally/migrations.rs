//! Migrations between groups of cores.

use std::ops::AddAssign;

/// Counts over a whole run, including the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// RPCs that groups admitted.
    pub let_in: u64,
    /// Descriptors sent to another group, including those that it refused.
    pub descriptors: u64,
    /// Descriptors that returned because the other group had no room.
    pub refused: u64,
    /// Messages that carried descriptors.
    pub messages: u64,
    /// Messages that published a queue length.
    pub updates: u64,
}

impl Migrations {
    /// RPCs served by another group than the one they arrived at.
    #[must_use]
    pub const fn migrated(&self) -> u64 {
        self.descriptors - self.refused
    }

    /// The migrated RPCs as a share of the admitted ones.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.let_in == 0 { 0.0 } else { self.migrated() as f64 / self.let_in as f64 }
    }
}

impl AddAssign for Migrations {
    fn add_assign(&mut self, other: Self) {
        self.let_in += other.let_in;
        self.descriptors += other.descriptors;
        self.refused += other.refused;
        self.messages += other.messages;
        self.updates += other.updates;
    }
}
