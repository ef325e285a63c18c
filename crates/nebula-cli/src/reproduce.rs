//! `nebula reproduce`: published results beside reproduced ones.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line |
//! | `pick` | selecting entries by the ids on the command line |
//! | `measure` | their runs, with a progress bar |
//! | `comparison` | one value, published and reproduced, from a run or from the JSON of an earlier run |
//! | `rows` | comparisons as tables, JSON and CSV |
//! | `markdown` | comparisons as the tables of docs/REPRODUCTION.md |
//! | `golden` | values that the golden rows have as reproduced and a run no longer has |
//! | `page` | the report |

mod args;
mod pick;
mod measure;
mod comparison;
mod rows;
mod markdown;
mod golden;
mod page;

use nebula_sim::reproduce::{Entry, Reproduction};

use crate::flags::Format;
use crate::output::{self, Failure};
use crate::report;
pub(crate) use args::Args;
use args::Form;
use comparison::Comparison;

/// Runs the selected entries, one after the other, and prints their rows.
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

/// The output format of other commands that corresponds to this one.
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
