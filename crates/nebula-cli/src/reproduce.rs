//! `nebula reproduce`: published beside reproduced.
//!
//! | file | what it holds |
//! |---|---|
//! | `pick` | which entries the ids on the command line mean |
//! | `rows` | a comparison, described once for tables, JSON and CSV |

mod pick;
mod rows;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nebula_sim::reproduce::{self, Entry, Lab, Progress, Reproduction};
use nebula_workload::Seed;

use crate::output::{self, Failure, Format, Row};

const EXAMPLES: &str = "Examples:
  nebula reproduce --list                                  what there is, and what it costs
  nebula reproduce nebula/eq1 nebula/sizing                published beside reproduced, with a verdict
  nebula reproduce nebula --effort full --format csv       everything of one paper, with intervals worth quoting

Verdicts: reproduced, where ours lies within the figure's tolerance or our interval holds the published value; differs;
not-reproducible-as-published, where the paper's own set-up cannot give the value or is not published in full; note,
where nothing is published and a variant of the set-up is shown. The same seed and effort give the same bytes.";

/// Make the papers' figures again: published beside reproduced, with intervals, a verdict and why
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to reproduce, or the beginning of it: nebula/table1, rpcvalet; everything unless given
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List what there is
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
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
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

/// Runs the entries asked for, one after the other, and prints their rows.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let entries = pick::entries(&args.ids)?;
    if args.list {
        return output::print(args.format, &entries.iter().map(rows::entry).collect::<Vec<_>>());
    }
    let found = reproduced(args, &entries)?;
    let rows: Vec<Row> = found.iter().flat_map(|(_, found)| &found.rows).map(rows::row).collect();
    output::print(args.format, &rows)
}

/// What the entries give, in their order.
fn reproduced(args: &Args, entries: &[Entry]) -> Result<Vec<(Entry, Reproduction)>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0).into()).build();
    let pool = pool.map_err(|error| Failure::fault(format!("cannot start threads: {error}")))?;
    let bar = Bar::new();
    let lab = Lab { effort: args.effort.into(), seed: Seed(args.seed), progress: &bar };
    let one = |entry: &Entry| {
        bar.begin(entry);
        let found = pool.install(|| entry.reproduce(&lab)).map_err(Failure::fault)?;
        Ok((*entry, found))
    };
    let found = entries.iter().map(one).collect();
    bar.0.finish_and_clear();
    found
}

/// A bar on a terminal; nothing in a pipe.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos} of {len} runs");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::with_draw_target(Some(0), target).with_style(style))
    }

    fn begin(&self, entry: &Entry) {
        self.0.set_message(entry.id);
    }
}

impl Progress for Bar {
    fn expect(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
