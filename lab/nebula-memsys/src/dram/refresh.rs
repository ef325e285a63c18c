//! The refresh of a rank: at fixed intervals all its banks are busy, and their rows close.

use super::timing::Timing;

pub(super) struct Refresh {
    /// Start of the latest refresh that an access has seen.
    began_ps: u64,
    count: u32,
}

impl Refresh {
    /// The first refresh begins at `first_ps`, since ranks are staggered.
    pub(super) const fn new(first_ps: u64, timing: &Timing) -> Self {
        // An interval before the first refresh, so that the count begins with it.
        Self { began_ps: first_ps.wrapping_sub(timing.refresh_interval_ps), count: 0 }
    }

    #[inline(always)]
    pub(super) fn after(&mut self, at_ps: u64, timing: &Timing) -> u64 {
        // Usually `at_ps` is between two refreshes.
        let since_end_ps = at_ps.wrapping_sub(self.began_ps).wrapping_sub(timing.refresh_ps);
        if since_end_ps < timing.quiet_ps { at_ps } else { self.after_any(at_ps, timing) }
    }

    #[inline(never)]
    fn after_any(&mut self, at_ps: u64, timing: &Timing) -> u64 {
        if timing.refresh_interval_ps == 0 {
            return at_ps;
        }
        let since_ps = at_ps.wrapping_sub(self.began_ps).cast_signed();
        let mut since_ps = match u64::try_from(since_ps) {
            Ok(since_ps) => since_ps,
            // The latest refresh came after the bank's last use, or is still to come.
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

    /// A bank that counted fewer has lost its open row.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DramConfig;
    use crate::dram::tests::config;

    fn timing(refresh_ns: f64) -> Timing {
        Timing::new(&DramConfig { refresh_ns, ..config() })
    }

    #[test]
    fn an_access_within_a_refresh_waits_for_its_end() {
        let timing = timing(350.0);
        let mut rank = Refresh::new(1_000_000, &timing);
        assert_eq!((rank.after(0, &timing), rank.count()), (0, 0));
        assert_eq!((rank.after(999_999, &timing), rank.count()), (999_999, 0));
        assert_eq!((rank.after(1_000_000, &timing), rank.count()), (1_350_000, 1));
        assert_eq!((rank.after(1_349_999, &timing), rank.count()), (1_350_000, 1));
        assert_eq!((rank.after(1_350_000, &timing), rank.count()), (1_350_000, 1));
        let third_ps = 1_000_000 + 2 * 7_800_000;
        assert_eq!((rank.after(third_ps + 1, &timing), rank.count()), (third_ps + 350_000, 3));
    }

    #[test]
    fn an_access_from_before_the_latest_refresh_does_not_wait() {
        let timing = timing(350.0);
        let mut rank = Refresh::new(1_000_000, &timing);
        rank.after(1_000_000, &timing);
        assert_eq!((rank.after(999_000, &timing), rank.count()), (999_000, 1));
    }

    #[test]
    fn without_refresh_nothing_waits() {
        let timing = timing(0.0);
        let mut rank = Refresh::new(0, &timing);
        assert_eq!((rank.after(7_800_000, &timing), rank.count()), (7_800_000, 0));
    }
}
