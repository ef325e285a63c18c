//! `nebula reproduce`: published beside reproduced.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the words of the command line |
//! | `pick` | which entries the ids on the command line mean |
//! | `measure` | their runs, with a progress bar |
//! | `comparison` | one value, published and reproduced, as a run found it or an earlier run wrote it down |
//! | `rows` | comparisons as tables, JSON and CSV |
//! | `markdown` | comparisons as the tables of docs/REPRODUCTION.md |
//! | `golden` | what was reproduced when the golden rows were made, and is so no longer |
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
