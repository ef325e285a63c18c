//! Station 8: *when does the payload go to the core?*
//!
//! With two RPCs outstanding at a core, the payload of the second is fetched into the core's L1
//! while the first is served. Only that one is prefetched, so the data in use stay in the cache.
//! The notification has the size, so all blocks of the payload are fetched.
//!
//! Next: station 9, [`completion`](crate::completion).

/// Whether payloads are prefetched; off to measure the benefit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// Payloads are prefetched.
    #[default]
    On,
    /// The handler's own loads fetch them.
    Off,
}

/// What to do with the payload of an RPC that has just been given to a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// No other RPC is ahead of it at this core: fetch at once.
    Now,
    /// Another RPC is ahead of it. Hardware fetches while that one is served; a worker thread
    /// fetches when it looks ([`Frontend::steer_next`](crate::Frontend::steer_next)).
    Later,
    /// Steering is off.
    Never,
}

impl Steering {
    /// The decision for a payload that has `ahead` other RPCs before it at the core.
    #[must_use]
    #[inline]
    pub const fn steer(self, ahead: u32) -> Steer {
        match self {
            Self::Off => Steer::Never,
            Self::On if ahead == 0 => Steer::Now,
            Self::On => Steer::Later,
        }
    }
}
