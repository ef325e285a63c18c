//! `nebula reproduce`: published results and reproduced ones.

mod args;
mod markdown;
mod golden;
mod page;

use nebula_lab::reproduce::{self as lab, Comparison, entry_row, row};
use nebula_sim::reproduce::{Entry, Reproduction};

use crate::report;
pub(crate) use args::Args;
use args::Form;
use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure};

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let entries = args.question.entries()?;
    if args.list {
        return output::print(plain(args.format), &entries.iter().map(entry_row).collect::<Vec<_>>());
    }
    if let Some(path) = &args.report {
        report::check_directory("--report", path)?;
    }
    let (comparisons, found) = match &args.from {
        Some(path) => (lab::read(path, &entries)?, Vec::new()),
        None => made(args)?,
    };
    let pictures: Vec<_> = found.iter().flat_map(|(_, found)| &found.pictures).collect();
    print(args.format, &comparisons)?;
    if let Some(path) = &args.report {
        report::write(path, &page::render(&entries, &comparisons, &pictures, &report::made_by_this_command()))?;
        output::note(format!("report: {}", path.display()));
    }
    if args.check { golden::check(args.question.effort, &entries, &comparisons) } else { Ok(()) }
}

type Made = (Vec<Comparison>, Vec<(Entry, Reproduction)>);

fn made(args: &Args) -> Result<Made, Failure> {
    let bar = crate::progress::Bar::of_runs();
    let found = args.question.reproduced(&bar)?;
    bar.finish();
    let comparisons = found.iter().flat_map(|(_, found)| &found.rows).map(Comparison::of).collect();
    Ok((comparisons, found))
}

fn print(form: Form, comparisons: &[Comparison]) -> Result<(), Failure> {
    match form {
        Form::Markdown => output::print_line(markdown::tables(comparisons).trim_end()),
        form => output::print(plain(form), &comparisons.iter().map(row).collect::<Vec<_>>()),
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
