//! How much is simulated, and on how many threads.

use nebula_sim::Effort;
use nebula_sim::study::Threads;
use nebula_workload::Seed;

use super::count;
use super::words;
use crate::output::Failure;

/// How much is simulated.
#[derive(Debug, clap::Args)]
pub(crate) struct EffortArgs {
    /// RPCs measured in each replication: 200k, or 1M where the load at the SLO is searched for, unless given
    #[arg(long, value_parser = count)]
    rpcs: Option<u64>,
    /// RPCs before those, which fill the empty system: a tenth of them, or more near saturation, unless given
    #[arg(long, value_name = "RPCS", value_parser = count)]
    warmup: Option<u64>,
    /// Independent replications, which the intervals are made of; 10 unless given
    #[arg(long)]
    replications: Option<u32>,
    /// Replicate until half the interval is within this share: 1%, 0.005
    #[arg(long, value_name = "SHARE", value_parser = words::share)]
    precision: Option<f64>,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to run replications on; as many as there are cores unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// RPCs and replications unless told, at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unless {
    rpcs: u64,
    rpcs_of_search: u64,
    replications: u32,
}

/// Near saturation, where a search looks, short runs keep the SLO by luck.
const QUEUEING: Unless = Unless { rpcs: 200_000, rpcs_of_search: 1_000_000, replications: 10 };

/// An RPC costs a hundred times as much, and its tail varies less: service times are nearly fixed.
const BLOCKS: Unless = Unless { rpcs: 100_000, rpcs_of_search: 100_000, replications: 5 };

/// Many systems, each searched for: enough to tell them apart.
const COMPARISON: Unless = Unless { rpcs: 100_000, rpcs_of_search: 100_000, replications: 5 };

impl EffortArgs {
    /// What every random draw follows from.
    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    /// Of systems side by side.
    pub(crate) fn of_comparison(&self) -> Effort {
        self.or(COMPARISON, true)
    }

    /// At the queueing level.
    pub(crate) fn effort(&self, searches: bool) -> Effort {
        self.or(QUEUEING, searches)
    }

    /// At the block level.
    pub(crate) fn of_blocks(&self, searches: bool) -> Effort {
        self.or(BLOCKS, searches)
    }

    fn or(&self, unless: Unless, searches: bool) -> Effort {
        let Self { warmup, precision, seed, .. } = *self;
        let rpcs = self.rpcs.unwrap_or(if searches { unless.rpcs_of_search } else { unless.rpcs });
        let replications = self.replications.unwrap_or(unless.replications);
        Effort { rpcs, warmup, replications, precision, seed: Seed(seed), ..Effort::default() }
    }

    pub(crate) fn threads(&self) -> Result<Threads, Failure> {
        Ok(Threads::try_new(self.threads)?)
    }
}
