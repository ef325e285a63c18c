//! `nebula reproduce`: published beside reproduced.
//!
//! | file | what it holds |
//! |---|---|
//! | `pick` | which entries the ids on the command line mean |
//! | `measure` | their runs, with a progress bar |
//! | `comparison` | one value, published and reproduced, as a run found it or an earlier run wrote it down |
//! | `rows` | comparisons as tables, JSON and CSV |
//! | `markdown` | comparisons as the tables of docs/REPRODUCTION.md |
//! | `golden` | what was reproduced when the golden rows were made, and is so no longer |
//! | `page` | the report |

mod pick;
mod measure;
mod comparison;
mod rows;
mod markdown;
mod golden;
mod page;

use std::path::PathBuf;

use nebula_sim::reproduce::{self, Entry, Reproduction};

use crate::flags::Format;
use crate::output::{self, Failure};
use crate::report;
use comparison::Comparison;

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
    ids: Vec<String>,
    /// List what there is, with the seconds that it takes on two cores
    #[arg(long)]
    list: bool,
    /// How much to simulate
    #[arg(long, value_enum, default_value_t)]
    effort: Effort,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to run replications on; as many as there are cores unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Show what an earlier run printed as JSON, instead of running
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "report", "effort", "seed", "threads"])]
    from: Option<PathBuf>,
    /// End with exit code 1 if a value that the golden rows have as reproduced no longer is
    #[arg(long, conflicts_with = "list")]
    check: bool,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Write charts and tables to this HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    report: Option<PathBuf>,
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

/// Runs the entries asked for, one after the other, and prints their rows.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let entries = pick::entries(&args.ids)?;
    if args.list {
        return output::print(plain(args.format), &entries.iter().map(rows::entry).collect::<Vec<_>>());
    }
    if let Some(path) = &args.report {
        report::check_directory("--report", path)?;
    }
    let (comparisons, found) = match &args.from {
        Some(path) => (comparison::read(path, &entries)?, Vec::new()),
        None => made(args, &entries)?,
    };
    print(args.format, &comparisons)?;
    if let Some(path) = &args.report {
        report::write(path, &page::render(&found, &footer(args)))?;
        output::note(format!("report: {}", path.display()));
    }
    if args.check { golden::check(args.effort, &entries, &comparisons) } else { Ok(()) }
}

type Made = (Vec<Comparison>, Vec<(Entry, Reproduction)>);

fn made(args: &Args, entries: &[Entry]) -> Result<Made, Failure> {
    let found = measure::reproduced(args, entries)?;
    let comparisons = found.iter().flat_map(|(_, found)| &found.rows).map(Comparison::of).collect();
    Ok((comparisons, found))
}

fn print(form: Form, comparisons: &[Comparison]) -> Result<(), Failure> {
    match form {
        Form::Markdown => output::print_line(markdown::tables(comparisons).trim_end()),
        form => output::print(plain(form), &comparisons.iter().map(rows::row).collect::<Vec<_>>()),
    }
}

/// The form that other commands have too.
fn plain(form: Form) -> Format {
    match form {
        Form::Table | Form::Markdown => Format::Table,
        Form::Json => Format::Json,
        Form::Csv => Format::Csv,
    }
}

fn footer(args: &Args) -> String {
    let ids = if args.ids.is_empty() { String::new() } else { format!(" {}", args.ids.join(" ")) };
    let effort = format!("{:?}", args.effort).to_lowercase();
    format!("Made by nebula {} reproduce{ids} --effort {effort} --seed {}.", env!("CARGO_PKG_VERSION"), args.seed)
}
