//! Station 8: *when does the payload go to the core?*
//!
//! With two RPCs outstanding at a core, the second waits while the first is served, and its payload
//! can be fetched into the core's L1 meanwhile. Only that one is prefetched, so the data in use
//! stay in the cache. The notification carries the size, so all of the payload is fetched and not
//! only its first block.
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
    /// No other RPC is ahead of it at this core: fetch at once; there is no service time to overlap
    /// with.
    Now,
    /// Another RPC is ahead of it. Hardware fetches while that one is served; a worker thread,
    /// which does one thing at a time, fetches when it looks
    /// ([`Frontend::steer_next`](crate::Frontend::steer_next)).
    Later,
    /// Steering is off.
    Never,
}

impl Steering {
    /// What to do with a payload that has `ahead` other RPCs before it at the core.
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
