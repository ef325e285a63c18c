//! Trained thresholds as a file: the parameters of the training, and one row per load.

use nebula_nic::schedule::{ThresholdRow, Thresholds};
use nebula_workload::thresholds::ThresholdFile;

use super::judged::Judged;
use super::training::Training;
use crate::error::SimError;

/// The result of training at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainedRow {
    /// The load, in thousandths.
    pub load_permille: u32,
    /// Mean number of waiting RPCs, by Erlang's formula.
    pub queue_mean: f64,
    /// The shortest queue that a late RPC found, or the naive threshold if none was late.
    pub aggressive: u32,
    /// The one with the best harmonic mean, or the naive one if fewer than 100 RPCs were late.
    pub trained: u32,
    /// RPCs that were late.
    pub late: u64,
    /// The quality of the trained threshold.
    pub trained_judged: Judged,
}

/// A trained table, with the parameters of the training.
///
/// # Examples
///
/// ```
/// use nebula_sim::altocumulus::ThresholdTable;
///
/// let table = ThresholdTable::named("exponential-15").expect("it ships with Nebula");
/// assert_eq!((table.training.workers, table.training.naive()), (15, 151));
/// assert!(table.thresholds()?.at(900) < 151);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdTable {
    /// The parameters; training again with them gives the same rows.
    pub training: Training,
    /// Load in thousandths, and trained threshold.
    pub rows: Vec<ThresholdRow>,
}

impl From<ThresholdFile> for ThresholdTable {
    fn from(file: ThresholdFile) -> Self {
        let ThresholdFile { workers, bound, service, arrivals, slo, rpcs, replications, seed, rows } = file;
        let loads_permille = rows.iter().map(|row| row.load_permille).collect();
        let training = Training { workers, bound, service, arrivals, slo, loads_permille, rpcs, replications, seed };
        Self { training, rows }
    }
}

impl ThresholdTable {
    /// The shipped table of this name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ThresholdFile::named(name).map(Self::from)
    }

    /// Reads a table from TOML.
    ///
    /// # Errors
    ///
    /// [`SimError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        ThresholdFile::parse(text).map(Self::from).map_err(|reason| SimError::Toml { reason })
    }

    /// Trains a table.
    ///
    /// # Errors
    ///
    /// As [`Training::train`].
    pub fn train(training: Training, progress: &(dyn Fn() + Sync)) -> Result<Self, SimError> {
        let row = |row: &TrainedRow| ThresholdRow { load_permille: row.load_permille, waiting: row.trained };
        let rows = training.train(progress)?.iter().map(row).collect();
        Ok(Self { training, rows })
    }

    /// The thresholds that a manager uses, by load.
    ///
    /// # Errors
    ///
    /// [`SimError::Thresholds`] if the rows are not a valid table.
    pub fn thresholds(&self) -> Result<Thresholds, SimError> {
        Ok(Thresholds::try_from_rows(self.rows.clone())?)
    }

    /// The table as TOML, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Self { training, rows } = self.clone();
        let Training { workers, bound, service, arrivals, slo, rpcs, replications, seed, .. } = training;
        ThresholdFile { workers, bound, service, arrivals, slo, rpcs, replications, seed, rows }.to_toml()
    }
}
