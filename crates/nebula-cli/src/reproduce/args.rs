//! The words of `nebula reproduce`.

use std::path::PathBuf;

use nebula_sim::reproduce;

const EXAMPLES: &str = "Examples:
  nebula reproduce --list                                  what there is, and what it costs
  nebula reproduce nebula/eq1 nebula/sizing                published beside reproduced, with a verdict
  nebula reproduce nebula --effort full --report nebula.html
  nebula reproduce rpcvalet --format json > rows.json      later: nebula reproduce --from rows.json --format markdown
  nebula reproduce --effort quick --check                  exit code 1 if what was reproduced no longer is

Verdicts: reproduced, where ours lies within the figure's tolerance or our interval, if narrow, holds the published value; differs;
not-reproducible-as-published, where the set-up as the paper tells it cannot give the value or is not told in full; note, where
nothing is published and a variant of the set-up is shown. The same seed and effort give the same bytes, on any number of threads.";

/// Make the papers' figures again: published beside reproduced, with intervals, a verdict and why
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to reproduce, or the beginning of it: nebula/table1, rpcvalet; everything unless given
    #[arg(value_name = "ID")]
    pub(super) ids: Vec<String>,
    /// List what there is, with the seconds that it takes on two cores
    #[arg(long)]
    pub(super) list: bool,
    /// How much to simulate
    #[arg(long, value_enum, default_value_t)]
    pub(super) effort: Effort,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Threads to run replications on; as many as there are cores unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
    /// Show what an earlier run printed as JSON, instead of running
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "report", "effort", "seed", "threads"])]
    pub(super) from: Option<PathBuf>,
    /// End with exit code 1 if a value that the golden rows have as reproduced no longer is
    #[arg(long, conflicts_with = "list")]
    pub(super) check: bool,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Form,
    /// Write charts and tables to this HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(super) report: Option<PathBuf>,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Effort {
    /// Seconds, to see that nothing broke
    Quick,
    /// About half a minute an entry
    #[default]
    Normal,
    /// Minutes an entry, for intervals worth quoting
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

/// The form of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// For people
    #[default]
    Table,
    /// One object a line
    Json,
    /// A line of names, then a line a result
    Csv,
    /// What is published, as tables of Markdown
    Markdown,
}
