//! `nebula simulate --machine …`: designs of NIC at rates, on a machine whose memory is simulated block by block.
//!
//! | file | what it holds |
//! |---|---|
//! | `words` | rates, and the hog's bandwidth |
//! | `files` | machines, designs and applications, by name or from files |
//! | `plan` | what is simulated, checked before the first run |
//! | `measure` | each design at each rate, side by side on all cores |
//! | `rows` | what was found, described once for tables, JSON and CSV |
//! | `breakdown` | where the time of an RPC and each block of DRAM traffic went |

pub(crate) mod breakdown;
mod files;
mod measure;
mod plan;
mod rows;
mod words;

use nebula_workload::Mix;

use super::{Args, FOOTER};
use crate::flags::{self, Format};
use crate::output::{self, Failure, Row};
use crate::report;
#[cfg(test)]
pub(crate) use measure::tests;
pub(crate) use measure::{Figures, Findings, Found};
use words::{Hog, Rates};

/// What only the block level has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Block level: each block goes through the memory of a --machine")]
pub(super) struct BlocksArgs {
    /// Designs of NIC and RPC stack: names, or files; all six that ship unless given
    #[arg(long, value_name = "NAME|FILE.toml,…", value_delimiter = ',')]
    design: Vec<String>,
    /// RPCs a second: 22MRPS, 5,10,22MRPS or 5..25MRPS:9; up to what the cores could serve unless given
    #[arg(long, value_name = "RATES")]
    rate: Option<Rates>,
    /// What runs on it: one that ships with Nebula, or a file; kvs unless given
    #[arg(long, value_name = "NAME|FILE.toml")]
    application: Option<String>,
    /// Weights of get and set, of a key-value store; its file's unless given
    #[arg(long)]
    mix: Option<Mix>,
    /// Bytes of a value, of a key-value store; its file's unless given
    #[arg(long)]
    value_bytes: Option<u32>,
    /// What another program on the machine moves to and from DRAM: 5GB/s; nothing unless given
    #[arg(long, value_name = "BANDWIDTH")]
    hog: Option<Hog>,
    /// The shared receive buffer, in place of the machine's: 80KiB
    #[arg(long, value_name = "BYTES", value_parser = flags::bytes)]
    receive_buffer: Option<u64>,
    /// Show where the time of an RPC and each byte of DRAM traffic went; with --plot, draw the time
    #[arg(long)]
    breakdown: bool,
}

/// Runs every design at every rate, prints a row for each and draws what is to be drawn.
pub(super) fn run(args: &Args, machine: &str) -> Result<(), Failure> {
    let pool = args.effort.pool()?;
    let plan = pool.install(|| plan::plan(args, machine))?;
    let findings = pool.measure_blocks(plan)?;
    let rows: Vec<Row> = findings.found.iter().map(|found| rows::row(&findings.setting, found)).collect();
    output::print(args.format, &rows)?;
    if args.blocks.breakdown && args.format == Format::Table {
        print_breakdown(&findings)?;
    }
    draw(args, &findings, &rows)?;
    rows::doubts(&findings).into_iter().for_each(output::note);
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
