//! The flags of both levels.

use clap::ArgMatches;
use nebula_workload::Arrivals;

use super::blocks::args::BlocksArgs;
use super::level;
use super::queueing::QueueingArgs;
use crate::Failure;
use crate::own::OwnPolicy;
use crate::words::{self, EffortArgs, Slo, parsed};

/// A server, its load, and how much to simulate.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Simulate at the block level on this machine: a name that ships with Nebula, or a file
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(super) machine: Option<String>,
    /// Arrival process
    #[arg(long, default_value = "poisson", value_parser = words::arrivals, conflicts_with = "clients")]
    pub(super) arrivals: Arrivals,
    /// Search for the highest load or rate that meets the SLO
    #[arg(long, conflicts_with_all = ["load", "clients", "rate"])]
    pub(super) find_slo: bool,
    /// SLO on the p99 latency: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    pub(super) slo: Slo,
    #[command(flatten)]
    pub(super) effort: EffortArgs,
    #[command(flatten)]
    pub(super) queueing: QueueingArgs,
    #[command(flatten)]
    pub(super) blocks: BlocksArgs,
    /// Policies of the caller's, behind those of `--policy`.
    #[arg(skip)]
    pub(super) own: Own,
}

/// The caller's policies, and whether only these are asked about.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) policies: Vec<OwnPolicy>,
    pub(super) are_all: bool,
}

impl Question {
    /// The question in these words: flags and their values, as after `nebula simulate`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and the valid ones.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        let (question, given): (Self, ArgMatches) = parsed("simulate", words)?;
        question.check(&given)?;
        Ok(question)
    }

    /// Checks that all given flags belong to the question's level.
    ///
    /// # Errors
    ///
    /// Invalid input: the first flag that does not.
    pub fn check(&self, given: &ArgMatches) -> Result<(), Failure> {
        level::check(self.machine.is_some(), given)
    }

    /// Adds these policies to those of the words, or replaces them if `are_all`.
    #[must_use]
    pub fn with_policies(self, policies: Vec<OwnPolicy>, are_all: bool) -> Self {
        Self { own: Own { policies, are_all }, ..self }
    }

    /// Whether the answer shows the time of an RPC by stage.
    #[must_use]
    pub const fn has_breakdown(&self) -> bool {
        self.blocks.breakdown
    }
}
