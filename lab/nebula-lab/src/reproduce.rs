//! `reproduce`: published results next to reproduced ones.
//!
//! `pick` selects entries by their ids, `comparison` is one value, published and reproduced, and
//! `rows` has comparisons as tables, JSON and CSV.

mod comparison;
mod pick;
mod rows;

use nebula_sim::reproduce::{self, Entry, Lab, Memo, Reproduction};
use nebula_sim::study::Threads;
use nebula_workload::Seed;

use crate::words::parsed;
use crate::{Answer, Failure, Progress};
pub use comparison::{Comparison, Counted, REPRODUCED, parse, read};
pub use rows::{entry as entry_row, row};

/// Entries, and how much to simulate of each.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Entries to reproduce, or prefixes of their ids: nebula/table1, rpcvalet [default: all]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Amount of simulation
    #[arg(long, value_enum, default_value_t)]
    pub effort: Effort,
    /// Seed of all random numbers; the same seed gives the same output
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads to run replications on [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// The amount of simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Effort {
    /// Seconds in all, as a regression test
    Quick,
    /// About half a minute per entry
    #[default]
    Normal,
    /// Minutes per entry, for narrow intervals
    Full,
}

impl From<Effort> for reproduce::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::Quick => Self::Quick,
            Effort::Normal => Self::Normal,
            Effort::Full => Self::Full,
        }
    }
}

impl Question {
    /// The question in these words: ids, flags and values, as after `nebula reproduce`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and the valid ones.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        Ok(parsed("reproduce", words)?.0)
    }

    /// The selected entries, in the order of the list.
    ///
    /// # Errors
    ///
    /// Invalid input: an unknown id.
    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        pick::entries(&self.ids)
    }

    /// Runs the entries one after the other; results are in their order.
    ///
    /// # Errors
    ///
    /// Invalid input, or an entry that could not be simulated.
    pub fn reproduced(&self, progress: &dyn Progress) -> Result<Vec<(Entry, Reproduction)>, Failure> {
        let (threads, memo) = (Threads::try_new(self.threads)?, Memo::default());
        let lab = Lab { effort: self.effort.into(), seed: Seed(self.seed), progress, memo: &memo };
        let one = |entry: Entry| {
            progress.begin(entry.id);
            let found = threads.install(|| entry.reproduce(&lab)).map_err(Failure::fault)?;
            Ok((entry, found))
        };
        self.entries()?.into_iter().map(one).collect()
    }

    /// Runs the entries; gives a row per value.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Answer, Failure> {
        let found = self.reproduced(progress)?;
        let rows = found.iter().flat_map(|(_, found)| &found.rows).map(|one| row(&Comparison::of(one))).collect();
        Ok(Answer { rows, ..Answer::default() })
    }
}
