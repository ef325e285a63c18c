//! `nebula compare`: one workload, many systems and policies, one table and one page.

use std::path::PathBuf;

use nebula_lab::compare::{Comparison, Question, shipped};
use nebula_workload::PRESETS;

use crate::report;
use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure, Row};

const EXAMPLES: &str = "Examples:
  nebula compare                                     every system on 16 cores under bimodal-1
  nebula compare --workload extreme-bimodal --slo 50us --report page.html
  nebula compare --workload exponential:1us --cores 64 --system zygos,shinjuku,nebula,altocumulus
  nebula compare --workload tpcc --policy single-queue,jbsq:2,work-stealing,preemptive:5us,darc --system none
  nebula compare --service trace:get.csv --load 0.3,0.5,0.7 --format json
  nebula compare --system zygos,mine.toml            a custom system beside a published one
  nebula compare --list                              list the systems and workloads

A system is a scheduling policy and the cost of its mechanisms, taken from its paper where the paper states it. Custom systems are TOML files like those in lab/nebula-sim/data/systems. A policy given with --policy has no cost: it is an ideal.
Without --load, compare searches for the highest load at which each system meets the SLO, with 5 replications of 100k RPCs. Load is the share of the time of all cores, scheduling cores included, so equal loads are equal rates. The shares of core time are: service; receiving, stealing, locks, preemption and migration; cores that only schedule; and idle time.";

/// Compare published systems on one workload: highest load under the SLO, tail latency, scheduling
/// overhead
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
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

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        return output::print(args.format, &listed());
    }
    if let Some(path) = &args.report {
        report::check_directory("--report", path)?;
    }
    let bar = crate::progress::Bar::of_replications();
    let Comparison { answer, found, setting, sources } = args.question.ask(&bar)?;
    bar.finish();
    if !answer.rows.is_empty() {
        output::print(args.format, &answer.rows)?;
    }
    if let Some(path) = args.report.as_ref().filter(|_| !answer.rows.is_empty()) {
        report::write(
            path,
            &report::compare::render(&found, &answer.rows, &setting, &sources, &report::made_by_this_command()),
        )?;
    }
    answer.notes.iter().for_each(output::note);
    answer.failure.map_or(Ok(()), Err)
}

fn listed() -> Vec<Row> {
    let row = |kind: &str, name: String, what: &str| {
        let fields = Row::new().field("kind", kind).field("name", name.clone()).field("what", what);
        fields.word("kind", kind).word("name", name).word("what", what)
    };
    let systems = shipped().map(|model| row("system", model.name.clone(), &model.title));
    let with_mean = |name: &str, has_mean| if has_mean { format!("{name}[:MEAN]") } else { name.to_owned() };
    let workloads =
        PRESETS.iter().map(|preset| row("workload", with_mean(preset.name, preset.has_mean()), preset.what));
    systems.chain(workloads).collect()
}
