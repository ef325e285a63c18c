//! One bank: its open row, and when it can take the next command.

use super::timing::Timing;

/// How an access met the bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowState {
    /// Its row was open.
    Hit,
    /// No row was open.
    Closed,
    /// Another row was open.
    Conflict,
}

/// No row has this number: a row holds at least one of 2³² blocks, and the last is none.
const NO_ROW: u32 = u32::MAX;

pub(super) struct Bank {
    row: u32,
    /// The rank's refreshes when the row was opened.
    refreshes: u32,
    activated_ps: u64,
    /// The next command, at the earliest.
    free_ps: u64,
}

impl Bank {
    pub(super) const fn new() -> Self {
        Self { row: NO_ROW, refreshes: 0, activated_ps: 0, free_ps: 0 }
    }

    /// When the bank can take a command that comes at `at_ps`.
    pub(super) fn free_ps(&self, at_ps: u64) -> u64 {
        self.free_ps.max(at_ps)
    }

    /// Reads or writes a column of `row` from `at_ps`, when the bank is free; returns when the block can be through.
    #[inline]
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

    /// An access while a row is open, or was until it stood unused for too long.
    fn meet(&mut self, at_ps: u64, row: u32, timing: &Timing) -> (u64, RowState) {
        let precharge_ps = self.activated_ps + timing.ras_ps;
        // `free_ps` is the end of the last use.
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

    /// Opens a row; returns when its first column can be asked for.
    const fn activate(&mut self, at_ps: u64, timing: &Timing) -> u64 {
        self.activated_ps = at_ps;
        at_ps + timing.activate_ps
    }
}
