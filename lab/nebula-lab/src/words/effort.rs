//! The amount of simulation, and the number of threads.

use nebula_sim::Effort;
use nebula_workload::Seed;

use super::count;
use super::values;
use crate::{Failure, Workers};

/// The amount of simulation.
#[derive(Debug, clap::Args)]
pub struct EffortArgs {
    /// RPCs measured in each replication [default: 200k, or 100k in compare and with --machine;
    /// more where a load takes long to settle]
    #[arg(long, value_parser = count)]
    rpcs: Option<u64>,
    /// Warm-up RPCs before the measured ones [default: a tenth of the measured ones, more near
    /// saturation]
    #[arg(long, value_name = "RPCS", value_parser = count)]
    warmup: Option<u64>,
    /// Independent replications for the confidence intervals [default: 10, or 5 in compare and with
    /// --machine]
    #[arg(long)]
    replications: Option<u32>,
    /// Add replications until half the interval is within this share of the figure: 1%, 0.005
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    precision: Option<f64>,
    /// Seed of all random numbers; the same seed gives the same output
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to run replications on [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unless {
    rpcs: u64,
    /// For a load that takes long to settle.
    rpcs_max: u64,
    replications: u32,
}

const QUEUEING: Unless = Unless { rpcs: 200_000, rpcs_max: 12_000_000, replications: 10 };

/// An RPC takes a hundred times as long to simulate, and its tail varies less.
const BLOCKS: Unless = Unless { rpcs: 100_000, rpcs_max: 100_000, replications: 5 };

/// Many systems, each with a search: enough to tell them apart.
const COMPARISON: Unless = Unless { rpcs: 100_000, rpcs_max: 8_000_000, replications: 5 };

/// A message of 64 KiB has as many packets as a hundred short ones.
const INCAST: Unless = Unless { rpcs: 50_000, rpcs_max: 50_000, replications: 10 };

impl EffortArgs {
    /// The seed of all random streams.
    pub fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    /// The study of systems side by side.
    pub fn of_comparison(&self) -> Effort {
        self.or(COMPARISON)
    }

    /// The study at the queueing level.
    pub fn effort(&self) -> Effort {
        self.or(QUEUEING)
    }

    /// The study at the block level.
    pub fn of_blocks(&self) -> Effort {
        self.or(BLOCKS)
    }

    /// The study of many senders.
    pub fn of_incast(&self) -> Effort {
        self.or(INCAST)
    }

    fn or(&self, unless: Unless) -> Effort {
        let Self { warmup, precision, seed, .. } = *self;
        let rpcs = self.rpcs.unwrap_or(unless.rpcs);
        let rpcs_max = self.rpcs.unwrap_or(unless.rpcs_max);
        let replications = self.replications.unwrap_or(unless.replications);
        Effort { rpcs, rpcs_max, warmup, replications, precision, seed: Seed(seed), ..Effort::default() }
    }

    /// Threads to run replications on.
    ///
    /// # Errors
    ///
    /// The operating system refuses to start threads.
    pub fn workers(&self) -> Result<Workers, Failure> {
        Workers::threads(self.threads)
    }
}
