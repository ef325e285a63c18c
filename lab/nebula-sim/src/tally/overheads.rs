//! Core time other than service, by cause.

use std::ops::AddAssign;

/// Core time of RPCs in addition to their service, by cause, in picoseconds. The rest of all core
/// time is service, scheduling cores, and idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Receiving: polling, protocol, and fetching lines that another core or the NIC wrote.
    pub dispatch_ps: u64,
    /// Stealing: searching other cores' queues, taking RPCs, and interrupting those cores.
    pub stealing_ps: u64,
    /// Locks: holding one or waiting for it.
    pub lock_ps: u64,
    /// Preemption: interrupts, checks and context switches.
    pub preemption_ps: u64,
    /// Migration: sending and receiving descriptors of RPCs between groups.
    pub migration_ps: u64,
}

impl Overheads {
    /// No overhead.
    pub const ZERO: Self = Self { dispatch_ps: 0, stealing_ps: 0, lock_ps: 0, preemption_ps: 0, migration_ps: 0 };

    /// The causes, as named in results, and their times.
    #[must_use]
    pub const fn by_cause(&self) -> [(&'static str, u64); 5] {
        [
            ("dispatch", self.dispatch_ps),
            ("stealing", self.stealing_ps),
            ("lock", self.lock_ps),
            ("preemption", self.preemption_ps),
            ("migration", self.migration_ps),
        ]
    }

    /// The sum of all causes.
    #[must_use]
    #[inline]
    pub const fn total_ps(&self) -> u64 {
        self.dispatch_ps + self.stealing_ps + self.lock_ps + self.preemption_ps + self.migration_ps
    }
}

impl AddAssign for Overheads {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.dispatch_ps += other.dispatch_ps;
        self.stealing_ps += other.stealing_ps;
        self.lock_ps += other.lock_ps;
        self.preemption_ps += other.preemption_ps;
        self.migration_ps += other.migration_ps;
    }
}
