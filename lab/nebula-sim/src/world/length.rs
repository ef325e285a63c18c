//! The length of a run.

/// The length of a run, in RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// RPCs before the measured window, which fill the empty system.
    pub warmup: u64,
    /// RPCs of the measured window.
    pub rpcs: u64,
}

impl Length {
    /// `rpcs` measured RPCs, after a warm-up of a tenth as many.
    #[must_use]
    pub const fn of(rpcs: u64) -> Self {
        Self { warmup: rpcs / 10, rpcs }
    }

    /// The same window after a warm-up of at least `warmup` RPCs.
    pub(crate) fn after(self, warmup: u64) -> Self {
        Self { warmup: self.warmup.max(warmup), ..self }
    }

    #[inline]
    pub(crate) const fn is_measured(self, number: u64) -> bool {
        number.wrapping_sub(self.warmup) < self.rpcs
    }
}
