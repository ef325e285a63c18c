//! `nebula compare`: one workload, many systems and policies, one table and one page.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan` | the points: each system at each load, validated before the first run |

mod plan;

use std::path::PathBuf;

use nebula_nic::Policy;
use nebula_sim::study::{Found, fields};
use nebula_workload::{PRESETS, ServiceTime};

use crate::flags::{self, EffortArgs, Format, Loads, Slo};
use crate::output::{self, Failure, Row};
use crate::{report, studies};

const EXAMPLES: &str = "Examples:
  nebula compare                                     every system on 16 cores under bimodal-1
  nebula compare --workload extreme-bimodal --slo 50us --report page.html
  nebula compare --workload exponential:1us --cores 64 --system zygos,shinjuku,nebula,altocumulus
  nebula compare --workload tpcc --policy single-queue,jbsq:2,work-stealing,preemptive:5us,darc --system none
  nebula compare --service trace:get.csv --load 0.3,0.5,0.7 --format json
  nebula compare --system zygos,mine.toml            a custom system beside a published one
  nebula compare --list                              list the systems and workloads

A system is a scheduling policy and the cost of its mechanisms, taken from its paper where the paper states it. Custom systems are TOML files like those in crates/nebula-sim/data/systems. A policy given with --policy has no cost: it is an ideal.
Without --load, compare searches for the highest load at which each system meets the SLO, with 5 replications of 100k RPCs. Load is the share of the time of all cores, scheduling cores included, so equal loads are equal rates. The shares of core time are: service; receiving, stealing, locks, preemption and migration; cores that only schedule; and idle time.";

/// Compare published systems on one workload: highest load under the SLO, tail latency, scheduling overhead
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Workload, with an optional mean where it has one: bimodal-1, bimodal-1:10us; see --list
    #[arg(long, default_value = "bimodal-1", conflicts_with = "service")]
    workload: String,
    /// Service time of an RPC, in the syntax of nebula simulate
    #[arg(long, value_parser = flags::service)]
    service: Option<ServiceTime>,
    /// Systems to compare, by name or file; `none` for policies only [default: all]
    #[arg(long, value_name = "NAME|FILE.toml", value_delimiter = ',')]
    system: Vec<String>,
    /// Policies to compare as well, without scheduling cost
    #[arg(long, value_delimiter = ',')]
    policy: Vec<Policy>,
    /// Cores of the server, scheduling cores included
    #[arg(long, default_value_t = 16)]
    cores: u16,
    /// Loads to simulate instead of searching, as shares of core time: 0.5,0.9 or 0.5..0.99:20
    #[arg(long)]
    load: Option<Loads>,
    /// SLO on the p99 latency: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    slo: Slo,
    #[command(flatten)]
    effort: EffortArgs,
    /// List the available systems and workloads
    #[arg(long)]
    list: bool,
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs all systems, prints a row for each and writes the report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        return output::print(args.format, &listed());
    }
    if let Some(path) = &args.report {
        report::check_directory("--report", path)?;
    }
    let plan = plan::Plan::of(args)?;
    let effort = args.effort.of_comparison();
    let measured = studies::measure(&args.effort.threads()?, &plan.points, args.effort.seed())?;
    let fields = fields::comparison();
    let rows: Vec<Row> = measured.found.iter().map(|found| fields.row(found)).collect();
    if !rows.is_empty() {
        output::print(args.format, &rows)?;
    }
    if let Some(path) = args.report.as_ref().filter(|_| !rows.is_empty()) {
        let page = report::compare::render(&measured.found, &rows, &plan.setting(args, &effort), &plan.sources, FOOTER);
        report::write(path, &page)?;
    }
    measured.found.iter().filter_map(Found::doubt).for_each(output::note);
    measured.failure.map_or(Ok(()), Err)
}

/// The footer of every report.
const FOOTER: &str = concat!("Made by nebula ", env!("CARGO_PKG_VERSION"), " compare.");

fn listed() -> Vec<Row> {
    let row = |kind: &str, name: String, what: &str| {
        let fields = Row::new().field("kind", kind).field("name", name.clone()).field("what", what);
        fields.word("kind", kind).word("name", name).word("what", what)
    };
    let systems = plan::shipped().map(|model| row("system", model.name.clone(), &model.title));
    let with_mean = |name: &str, has_mean| if has_mean { format!("{name}[:MEAN]") } else { name.to_owned() };
    let workloads =
        PRESETS.iter().map(|preset| row("workload", with_mean(preset.name, preset.has_mean()), preset.what));
    systems.chain(workloads).collect()
}
