//! Whether an SLO is met, as far as the simulation can tell.

use crate::interval::ratio::Ratio;

/// Whether the p99 is within the SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Its interval is within the SLO, and the result has settled.
    Yes,
    /// Its interval is beyond the SLO.
    No,
    /// The SLO lies in its interval, or the result has not settled.
    Undecided,
}

impl Met {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Undecided => "undecided",
        }
    }

    pub(crate) fn of(late: &Ratio, is_settled: bool) -> Self {
        const LATE: f64 = 0.01;
        match late.against(LATE) {
            1 => Self::No,
            -1 if is_settled => Self::Yes,
            _ => Self::Undecided,
        }
    }
}
