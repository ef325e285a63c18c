//! `nebula simulate`: simulates a server under each policy or design and load, with confidence
//! intervals.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line; its question is [`nebula_lab::simulate`]'s |
//! | `trace` | the file of `--trace` |

mod args;
mod trace;

use clap::ArgMatches;
use nebula_lab::Answer;
use nebula_lab::simulate::{Simulated, Simulation};
use nebula_sim::study::Found;
use nebula_sim::study::blocks::{Findings, breakdown};

use crate::report;
pub(crate) use args::Args;
use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure, Row};

/// Runs all points, prints a row for each and writes report and plot; `given` are the raw
/// arguments.
pub(crate) fn run(args: &Args, given: &ArgMatches) -> Result<(), Failure> {
    args.question.check(given)?;
    check_files(args)?;
    if let Some(path) = &args.trace {
        trace::write(path, &args.question.trace()?)?;
    }
    let bar = crate::progress::Bar::of_replications();
    let simulation = args.question.ask(&bar)?;
    bar.finish();
    let shown = shown(args, &simulation)?;
    let Simulation { answer: Answer { rows, notes, failure, .. }, of } = simulation;
    if !rows.is_empty() {
        output::print(args.format, shown.as_ref().unwrap_or(&rows))?;
        match &of {
            Simulated::Queueing(found) => draw(args, found, &rows)?,
            Simulated::Blocks(findings) => show_blocks(args, findings, &rows)?,
            Simulated::Tenants => {}
        }
    }
    notes.iter().for_each(output::note);
    failure.map_or(Ok(()), Err)
}

fn shown(args: &Args, simulation: &Simulation) -> Result<Option<Vec<Row>>, Failure> {
    match (args.per_replication, args.histogram) {
        (true, _) => Ok(Some(simulation.replications()?)),
        (_, true) => Ok(Some(simulation.histogram()?)),
        _ => Ok(None),
    }
}

fn check_files(args: &Args) -> Result<(), Failure> {
    for (flag, path) in [("--report", &args.report), ("--plot", &args.plot), ("--trace", &args.trace)] {
        path.as_deref().map_or(Ok(()), |path| report::check_directory(flag, path))?;
    }
    args.plot.as_deref().map_or(Ok(()), report::plot::check_plot)
}

fn draw(args: &Args, found: &[Found], rows: &[Row]) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::write(path, &report::simulation::render(found, rows, &report::made_by_this_command()))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::simulation::plot(found)),
        None => Ok(()),
    }
}

fn show_blocks(args: &Args, findings: &Findings, rows: &[Row]) -> Result<(), Failure> {
    let has_breakdown = args.question.has_breakdown();
    if has_breakdown && args.format == Format::Table {
        print_breakdown(findings)?;
    }
    if let Some(path) = &args.report {
        report::write(path, &report::blocks::render(findings, rows, &report::made_by_this_command()))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::blocks::plot(findings, has_breakdown)),
        None => Ok(()),
    }
}

fn print_breakdown(findings: &Findings) -> Result<(), Failure> {
    for (caption, rows) in
        [(breakdown::TIME, breakdown::time_rows(findings)), (breakdown::TRAFFIC, breakdown::traffic_rows(findings))]
    {
        if !rows.is_empty() {
            output::print_line(&format!("\n{caption}"))?;
            output::print(Format::Table, &rows)?;
        }
    }
    Ok(())
}
