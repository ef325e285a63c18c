//! One bank: its open row, and when it can accept the next command.

use super::timing::Timing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowState {
    Hit,
    Closed,
    Conflict,
}

/// No row has this number: a row has at least one of 2³² blocks, of which the last number is none.
const NO_ROW: u32 = u32::MAX;

pub(super) struct Bank {
    row: u32,
    /// The rank's refreshes when the row was opened.
    refreshes: u32,
    activated_ps: u64,
    free_ps: u64,
}

impl Bank {
    pub(super) const fn new() -> Self {
        Self { row: NO_ROW, refreshes: 0, activated_ps: 0, free_ps: 0 }
    }

    #[inline(always)]
    pub(super) fn free_ps(&self, at_ps: u64) -> u64 {
        self.free_ps.max(at_ps)
    }

    /// Accesses a column of `row` when the bank is free; returns the end of the block's transfer.
    #[inline(always)]
    pub(super) fn access(&mut self, at_ps: u64, row: u32, refreshes: u32, timing: &Timing) -> (u64, RowState) {
        if self.refreshes != refreshes {
            self.row = NO_ROW;
        }
        let (column_ps, state) = match self.row {
            NO_ROW => (self.activate(at_ps, timing), RowState::Closed),
            _ => self.meet(at_ps, row, timing),
        };
        self.row = row;
        self.refreshes = refreshes;
        self.free_ps = column_ps + timing.burst_ps;
        (column_ps + timing.hit_ps, state)
    }

    /// An access while a row is open, or was open until its timeout.
    #[inline(always)]
    fn meet(&mut self, at_ps: u64, row: u32, timing: &Timing) -> (u64, RowState) {
        let precharge_ps = self.activated_ps + timing.ras_ps;
        let closes_ps = self.free_ps.saturating_add(timing.row_idle_ps).max(precharge_ps);
        if at_ps >= closes_ps {
            let closed_ps = closes_ps + timing.precharge_ps;
            return (self.activate(at_ps.max(closed_ps), timing), RowState::Closed);
        }
        if self.row == row {
            return (at_ps, RowState::Hit);
        }
        let closed_ps = at_ps.max(precharge_ps) + timing.precharge_ps;
        (self.activate(closed_ps, timing), RowState::Conflict)
    }

    /// Opens a row; returns the earliest column command.
    #[inline(always)]
    const fn activate(&mut self, at_ps: u64, timing: &Timing) -> u64 {
        self.activated_ps = at_ps;
        at_ps + timing.activate_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DramConfig;
    use crate::dram::tests::config;

    fn timing(row_idle_ns: Option<f64>) -> Timing {
        Timing::new(&DramConfig { row_idle_ns, ..config() })
    }

    #[test]
    fn each_access_is_as_early_as_the_banks_state_allows() {
        let timing = timing(None);
        let mut bank = Bank::new();
        assert_eq!(bank.access(0, 7, 0, &timing), (45_000, RowState::Closed));
        let free_ps = bank.free_ps(0);
        // The column command was issued at 14 ns and takes one burst.
        assert_eq!(free_ps, 14_000 + timing.burst_ps);
        assert_eq!(bank.access(free_ps, 7, 0, &timing), (free_ps + 31_000, RowState::Hit));
        // The row must be open for 33 ns before it is closed.
        assert_eq!(bank.access(bank.free_ps(0), 8, 0, &timing), (33_000 + 59_000, RowState::Conflict));
        assert_eq!(bank.access(1_000_000, 9, 0, &timing), (1_059_000, RowState::Conflict));
    }

    #[test]
    fn a_refresh_closes_the_row() {
        let timing = timing(None);
        let mut bank = Bank::new();
        bank.access(0, 7, 0, &timing);
        assert_eq!(bank.access(1_000_000, 7, 1, &timing), (1_045_000, RowState::Closed));
        assert_eq!(bank.access(2_000_000, 7, 1, &timing), (2_031_000, RowState::Hit));
    }

    #[test]
    fn an_idle_row_closes_itself_and_pays_for_the_precharge() {
        let timing = timing(Some(100.0));
        let mut bank = Bank::new();
        bank.access(0, 7, 0, &timing);
        let closes_ps = bank.free_ps(0) + 100_000;
        assert_eq!(bank.access(closes_ps - 1, 7, 0, &timing).1, RowState::Hit);
        let closes_ps = bank.free_ps(0) + 100_000;
        assert_eq!(bank.access(closes_ps, 7, 0, &timing), (closes_ps + 14_000 + 45_000, RowState::Closed));
        let closes_ps = bank.free_ps(0) + 100_000;
        assert_eq!(bank.access(closes_ps + 14_000, 7, 0, &timing), (closes_ps + 59_000, RowState::Closed));
    }

    #[test]
    fn a_row_closed_immediately_is_not_hit_afterwards() {
        let timing = timing(Some(0.0));
        let mut bank = Bank::new();
        bank.access(0, 7, 0, &timing);
        assert_eq!(bank.access(33_000, 7, 0, &timing), (33_000 + 14_000 + 45_000, RowState::Closed));
    }
}
