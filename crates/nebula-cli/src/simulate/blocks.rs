//! `nebula simulate --machine …`: NIC designs at given rates, on a machine whose memory is simulated block by block.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | its flags |
//! | `words` | syntax of rates and of the hog's bandwidth |
//! | `files` | machines, designs and applications, by name or from files |
//! | `plan` | the scenarios, validated before the first run |

pub(super) mod args;
mod files;
mod plan;
mod words;

use nebula_sim::study::blocks::{Findings, breakdown};
use nebula_sim::study::fields;

use super::args::{Args, FOOTER};
use crate::flags::Format;
use crate::output::{self, Failure, Row};
use crate::report;

/// Runs every design at every rate, prints a row for each and writes report and plot.
pub(super) fn run(args: &Args, machine: &str) -> Result<(), Failure> {
    let threads = args.effort.threads()?;
    let plan = threads.install(|| plan::plan(args, machine))?;
    let findings = plan.run(args.effort.seed(), &threads)?;
    let fields = fields::blocks();
    let rows: Vec<Row> = findings.found.iter().map(|found| fields.row(found)).collect();
    output::print(args.format, &rows)?;
    if args.blocks.breakdown && args.format == Format::Table {
        print_breakdown(&findings)?;
    }
    draw(args, &findings, &rows)?;
    findings.doubts().into_iter().for_each(output::note);
    Ok(())
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

fn draw(args: &Args, findings: &Findings, rows: &[Row]) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::write(path, &report::blocks::render(findings, rows, FOOTER))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::blocks::plot(findings, args.blocks.breakdown)),
        None => Ok(()),
    }
}
