//! Trained thresholds as a file: the parameters of the training, and one row per load.

use super::judged::Judged;
use super::training::Training;
use crate::altocumulus::shipped::SHIPPED;
use crate::error::SimError;
use crate::spelled::spelled;
use nebula_nic::Span;
use nebula_nic::schedule::{ThresholdRow, Thresholds};
use nebula_workload::{Arrivals, Seed, ServiceTime};
use serde::Deserialize;
use std::fmt::Write;

/// The result of training at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainedRow {
    /// The load, in thousandths.
    pub load_permille: u32,
    /// Mean number of waiting RPCs, by Erlang's formula.
    pub queue_mean: f64,
    /// The aggressive threshold: the shortest queue that a late RPC found, or the naive threshold
    /// if none was late.
    pub aggressive: u32,
    /// The trained threshold: the one with the best harmonic mean, or the naive one if fewer than
    /// 100 RPCs were late, too few to learn from.
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
    /// What it was trained for; training again with it gives the same rows.
    pub training: Training,
    /// Load in thousandths, and trained threshold.
    pub rows: Vec<ThresholdRow>,
}

/// The table as written in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    workers: u16,
    bound: u32,
    #[serde(deserialize_with = "spelled")]
    service: ServiceTime,
    #[serde(default = "poisson", deserialize_with = "spelled")]
    arrivals: Arrivals,
    #[serde(deserialize_with = "spelled")]
    slo: Span,
    rpcs: u64,
    replications: u32,
    seed: u64,
    rows: Vec<(u32, u32)>,
}

const fn poisson() -> Arrivals {
    Arrivals::Poisson
}

impl ThresholdTable {
    /// The names of the shipped tables.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.names()
    }

    /// The shipped table of this name; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If the shipped file is invalid; a test checks every shipped file.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHIPPED.parsed(name, Self::parse)
    }

    /// Reads a table from TOML.
    ///
    /// # Errors
    ///
    /// [`SimError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let File { workers, bound, service, arrivals, slo, rpcs, replications, seed, rows } =
            toml::from_str(text).map_err(|error| SimError::toml(text, &error))?;
        let loads_permille = rows.iter().map(|&(load, _)| load).collect();
        let seed = Seed(seed);
        let training = Training { workers, bound, service, arrivals, slo, loads_permille, rpcs, replications, seed };
        let rows = rows.into_iter().map(|(load_permille, waiting)| ThresholdRow { load_permille, waiting }).collect();
        Ok(Self { training, rows })
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
        let Training { workers, bound, service, arrivals, slo, rpcs, replications, seed, .. } = &self.training;
        let slo_ns = slo.as_ns();
        let arrivals = match arrivals {
            Arrivals::Poisson => String::new(),
            arrivals => format!("arrivals = \"{arrivals}\"\n"),
        };
        let mut text = format!(
            "workers = {workers}\nbound = {bound}\nservice = \"{service}\"\n{arrivals}slo = \"{slo_ns}ns\"\n\
             rpcs = {rpcs}\nreplications = {replications}\nseed = {}\n\n\
             # Load in thousandths of the workers' capacity, and how many may wait.\nrows = [\n",
            seed.0
        );
        for ThresholdRow { load_permille, waiting } in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  [{load_permille}, {waiting}],");
        }
        text.push_str("]\n");
        text
    }
}
