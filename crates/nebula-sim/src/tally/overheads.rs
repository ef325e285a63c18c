//! What cores spend their time on beside serving.

use std::ops::AddAssign;

/// Core time that RPCs took beside their service, by cause, in picoseconds.
///
/// With the time of service, and that of cores which do nothing but schedule, what is left of all core time is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Receiving: polling, protocol, and the fetch of what another core or the NIC has written.
    pub dispatch_ps: u64,
    /// Looking for work in others' queues and taking it, and the interrupts that this costs those others.
    pub stealing_ps: u64,
    /// Holding a lock or waiting for it.
    pub lock_ps: u64,
    /// Interrupts, checks and context switches of preemption.
    pub preemption_ps: u64,
    /// Sending and receiving descriptors of RPCs that move between groups.
    pub migration_ps: u64,
}

impl Overheads {
    /// No time at all.
    pub const ZERO: Self = Self { dispatch_ps: 0, stealing_ps: 0, lock_ps: 0, preemption_ps: 0, migration_ps: 0 };

    /// The causes, as they are called in results, and their times.
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

    /// All of it.
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
