//! The refresh of one rank: at fixed intervals all its banks are busy, and their rows are closed after it.

use super::timing::Timing;

pub(super) struct Refresh {
    /// When the latest refresh that an access has met began.
    began_ps: u64,
    /// Refreshes so far, counted from the first.
    count: u32,
}

impl Refresh {
    /// The first refresh begins at `first_ps`: ranks take turns.
    pub(super) const fn new(first_ps: u64, timing: &Timing) -> Self {
        // One interval before the first, so that counting begins with it.
        Self { began_ps: first_ps.wrapping_sub(timing.refresh_interval_ps), count: 0 }
    }

    /// Moves `at_ps` behind the refresh that it falls into.
    #[inline]
    pub(super) fn after(&mut self, at_ps: u64, timing: &Timing) -> u64 {
        if timing.refresh_interval_ps == 0 {
            return at_ps;
        }
        let since_ps = at_ps.wrapping_sub(self.began_ps).cast_signed();
        let mut since_ps = match u64::try_from(since_ps) {
            Ok(since_ps) => since_ps,
            // Before the latest refresh: it took place since the bank was used, or is still to come.
            Err(_) => return at_ps,
        };
        if since_ps >= timing.refresh_interval_ps {
            let passed = since_ps / timing.refresh_interval_ps;
            self.began_ps = self.began_ps.wrapping_add(passed * timing.refresh_interval_ps);
            self.count = self.count.wrapping_add(u32::try_from(passed).unwrap_or(u32::MAX));
            since_ps -= passed * timing.refresh_interval_ps;
        }
        let is_first_to_come = self.count == 0;
        at_ps + if is_first_to_come { 0 } else { timing.refresh_ps.saturating_sub(since_ps) }
    }

    /// How many there were: a bank that counted fewer has lost its open row.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }
}
