//! What moved between groups of cores.

use std::ops::AddAssign;

/// Counts over a whole run, the RPCs before the measured window included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// RPCs that groups let in.
    pub let_in: u64,
    /// Descriptors sent to another group, those that it refused included.
    pub descriptors: u64,
    /// Of them, descriptors that came back for want of room.
    pub refused: u64,
    /// Messages that carried them.
    pub messages: u64,
    /// Messages that said how long a queue is.
    pub updates: u64,
}

impl Migrations {
    /// RPCs that another group served than the one that they came to.
    #[must_use]
    pub const fn migrated(&self) -> u64 {
        self.descriptors - self.refused
    }

    /// The same as a share of those let in.
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
