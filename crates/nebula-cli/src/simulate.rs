//! `nebula simulate`: simulates a server under each policy or design and load, with confidence intervals.
//!
//! There are two levels. At the queueing level, service times are given. At the block level, each block that an RPC touches goes through
//! the simulated memory of a `--machine`, and service times are a result.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line |
//! | `level` | which flags belong to which level |
//! | `words` | value syntax of this command only: reactions to a NACK, balancers |
//! | `queueing` | the flags of the queueing level |
//! | `plan` | its operating points, validated before the first run |
//! | `tenants` | messaging domains that share cores: other rows, and a file of their description |
//! | `blocks` | the block level, with files of the same names |

mod level;
mod plan;
mod queueing;
mod args;
mod blocks;
mod tenants;
mod words;

use clap::ArgMatches;
use nebula_sim::study::{Found, fields};

use crate::output::{self, Failure, Row};
use crate::{report, studies};
pub(crate) use args::Args;
use args::FOOTER;

/// Runs all points, prints a row for each and writes report and plot; `given` are the raw arguments.
pub(crate) fn run(args: &Args, given: &ArgMatches) -> Result<(), Failure> {
    level::check(args.machine.is_some(), given)?;
    check_files(args)?;
    match &args.machine {
        Some(machine) => blocks::run(args, machine),
        None => match &args.queueing.tenants {
            Some(given) => tenants::run(args, given),
            None => run_queueing(args),
        },
    }
}

fn run_queueing(args: &Args) -> Result<(), Failure> {
    let points = plan::points(args)?;
    let measured = studies::measure(&args.effort.threads()?, &points, args.effort.seed())?;
    let fields = fields::queueing();
    let rows: Vec<Row> = measured.found.iter().map(|found| fields.row(found)).collect();
    if !rows.is_empty() {
        output::print(args.format, &rows)?;
        draw(args, &measured.found, &rows)?;
    }
    measured.found.iter().filter_map(Found::doubt).for_each(output::note);
    measured.failure.map_or(Ok(()), Err)
}

fn check_files(args: &Args) -> Result<(), Failure> {
    for (flag, path) in [("--report", &args.report), ("--plot", &args.plot)] {
        path.as_deref().map_or(Ok(()), |path| report::check_directory(flag, path))?;
    }
    args.plot.as_deref().map_or(Ok(()), report::plot::check_plot)
}

fn draw(args: &Args, found: &[Found], rows: &[Row]) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::write(path, &report::simulation::render(found, rows, FOOTER))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::simulation::plot(found)),
        None => Ok(()),
    }
}
