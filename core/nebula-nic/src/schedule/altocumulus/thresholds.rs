//! The number of RPCs that may wait before the last is predicted to miss the SLO: one per state,
//! trained in advance.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The threshold of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdRow {
    /// The state: the highest load, in thousandths of the capacity of the group's workers.
    pub load_permille: u32,
    /// RPCs that may wait; those beyond are predicted to miss the SLO.
    pub waiting: u32,
}

/// Thresholds by load, trained elsewhere.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{ThresholdRow, Thresholds};
///
/// let row = |load_permille, waiting| ThresholdRow { load_permille, waiting };
/// let trained = Thresholds::try_from_rows(vec![row(500, 70), row(900, 90)])?;
/// assert_eq!([trained.at(0), trained.at(500), trained.at(501), trained.at(2000)], [70, 70, 90, 90]);
/// assert_eq!(Thresholds::naive(15, 10).at(700), 151);
/// # Ok::<(), nebula_nic::schedule::ThresholdsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds(Box<[ThresholdRow]>);

/// Rows that are not a valid table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdsError {
    /// There are no rows.
    #[error("a table of thresholds needs at least one row")]
    Empty,
    /// A load that is not above the one before.
    #[error("the loads of a table of thresholds must rise: {load_permille} thousandths come out of order")]
    Order {
        /// The load.
        load_permille: u32,
    },
}

impl Thresholds {
    /// One threshold for all states.
    #[must_use]
    pub fn fixed(waiting: u32) -> Self {
        Self(vec![ThresholdRow { load_permille: u32::MAX, waiting }].into())
    }

    /// A threshold without training: within the SLO, `workers` cores complete `slo_services` mean
    /// service times of work each, and an RPC behind that many is late. This holds on average only,
    /// and is too high for most RPCs.
    ///
    /// Source: Altocumulus: ten times the cores, at an SLO of ten service times.
    #[must_use]
    pub fn naive(workers: u16, slo_services: u32) -> Self {
        Self::fixed(u32::from(workers).saturating_mul(slo_services).saturating_add(1))
    }

    /// A threshold for each state, by rising load.
    pub fn try_from_rows(rows: Vec<ThresholdRow>) -> Result<Self, ThresholdsError> {
        if rows.is_empty() {
            return Err(ThresholdsError::Empty);
        }
        match rows.windows(2).find(|pair| pair[1].load_permille <= pair[0].load_permille) {
            Some(pair) => Err(ThresholdsError::Order { load_permille: pair[1].load_permille }),
            None => Ok(Self(rows.into())),
        }
    }

    /// The threshold at a load: that of the first row whose load is not lower, or of the last row.
    /// Cost: O(log rows).
    #[must_use]
    pub fn at(&self, load_permille: u32) -> u32 {
        let row = self.0.partition_point(|row| row.load_permille < load_permille).min(self.0.len() - 1);
        self.0[row].waiting
    }

    /// All rows, by rising load.
    #[must_use]
    pub fn rows(&self) -> &[ThresholdRow] {
        &self.0
    }
}
