//! The command line of `nebula reproduce`.

use std::path::PathBuf;

use nebula_lab::reproduce::Question;

const EXAMPLES: &str = "Examples:
  nebula reproduce --list                                  list the entries and their run times
  nebula reproduce nebula/eq1 nebula/sizing                published and reproduced values, with a verdict
  nebula reproduce nebula --effort full --report nebula.html
  nebula reproduce rpcvalet --format json > rows.json      then: nebula reproduce --from rows.json --report rows.html
  nebula reproduce --effort quick --check                  exit with code 1 on a regression

Verdicts:
  reproduced                     within the figure's tolerance, or a narrow interval contains the published value
  differs                        not reproduced
  not-reproducible-as-published  the published setup is incomplete, or cannot give the published value
  fitted                         within the tolerance, because a parameter is fitted to it or is it; counted apart
  cited                          nothing here is compared with it; counted apart
  note                           a variant of the setup, for which nothing is published
The same seed and effort give the same output, on any number of threads.";

/// Reproduce results of the papers, with confidence intervals, a verdict and the reason for each
/// difference
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) question: Question,
    /// List the entries and their run times on two cores, in seconds
    #[arg(long)]
    pub(super) list: bool,
    /// Read the JSON output of an earlier run instead of simulating
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "effort", "seed", "threads"])]
    pub(super) from: Option<PathBuf>,
    /// Exit with code 1 if a value that the golden rows list as reproduced no longer is
    #[arg(long, conflicts_with = "list")]
    pub(super) check: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Form,
    /// Write an HTML report to this file: all rows, and charts unless the rows are those of --from
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(super) report: Option<PathBuf>,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Aligned table for people
    #[default]
    Table,
    /// JSON lines: one object per result
    Json,
    /// CSV with a header line
    Csv,
    /// Markdown: verdicts by paper, and tables of the published values
    Markdown,
}
