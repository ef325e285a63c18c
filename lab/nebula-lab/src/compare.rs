//! `compare`: one workload, many systems and policies.

mod plan;

use nebula_nic::Policy;
use nebula_sim::study::{Found, fields};
use nebula_workload::ServiceTime;

use crate::words::{self, EffortArgs, Loads, Slo, parsed};
use crate::{Answer, Failure, Progress, Workers, studies};
pub use plan::shipped;

/// A workload, and the systems that serve it.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Workload, with an optional mean where it has one: bimodal-1, bimodal-1:10us; see --list
    #[arg(long, default_value = "bimodal-1", conflicts_with = "service")]
    workload: String,
    /// Service time of an RPC, in the syntax of nebula simulate
    #[arg(long, value_parser = words::service)]
    service: Option<ServiceTime>,
    /// Systems to compare, by name or file; `none` for policies only [default: all]
    #[arg(long, value_name = "NAME|FILE.toml", value_delimiter = ',')]
    system: Vec<String>,
    /// Policies to compare as well, without scheduling cost
    #[arg(long, value_delimiter = ',')]
    policy: Vec<Policy>,
    /// Cores of the server, scheduling cores included
    #[arg(long, default_value_t = 16)]
    cores: u16,
    /// Loads to simulate instead of searching, as shares of core time: 0.5,0.9 or 0.5..0.99:20
    #[arg(long)]
    load: Option<Loads>,
    /// SLO on the p99 latency: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    slo: Slo,
    #[command(flatten)]
    effort: EffortArgs,
}

/// The answer, and the results behind its rows.
#[derive(Debug)]
pub struct Comparison {
    /// Its rows.
    pub answer: Answer,
    /// The results, for charts.
    pub found: Vec<Found>,
    /// The conditions, in one line.
    pub setting: String,
    /// A description of each system.
    pub sources: Vec<String>,
}

impl Question {
    /// The question in these words: flags and values, as after `nebula compare`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and the valid ones.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        Ok(parsed("compare", words)?.0)
    }

    /// Runs all systems.
    ///
    /// # Errors
    ///
    /// Invalid input: the first system or load that cannot be simulated, before any run.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Comparison, Failure> {
        self.ask_on(&self.effort.workers()?, progress)
    }

    /// [`ask`](Self::ask) on these workers.
    pub fn ask_on(&self, workers: &Workers, progress: &dyn Progress) -> Result<Comparison, Failure> {
        let plan = plan::Plan::of(self)?;
        let measured = studies::measure(workers, &plan.points, self.effort.seed(), progress)?;
        let setting = plan.setting(self, &self.effort.of_comparison());
        let answer = measured.answer(&fields::comparison());
        Ok(Comparison { answer, found: measured.found, setting, sources: plan.sources })
    }
}
