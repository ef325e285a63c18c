//! `nebula doctor`: what this machine can promise, and how to mend it.

mod echo;
mod finding;
mod pauses;
mod machine;

use std::time::Duration;

use indicatif::ProgressBar;
use nebula_nic::Span;

use crate::flags::Format;
use crate::output::{self, Failure, Row};
use crate::{hiccup, signal};
use finding::Finding;

const EXAMPLES: &str = "Examples:
  nebula doctor
  nebula doctor --seconds 10 --format json

A p99 cannot be better than the pauses of the cores that client and server run on: the floor is computed from them, and whoever
measures less than it has left something out.";

/// Say what this machine can promise: cores, pauses, clock, huge pages, memory, and how to mend it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How long pauses are watched, and then RPCs timed
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("write seconds from 0.01 to 3600, not {text:?}"))
}

/// Prints a line for each thing looked at.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    let time = Duration::from_secs_f64(args.seconds);
    let bar = ProgressBar::new_spinner();
    let mut findings = machine::findings();
    bar.set_message(format!("watching two cores for {time:.0?}"));
    bar.tick();
    findings.extend(pauses::findings(&hiccup::watch(time)?));
    signal::check()?;
    bar.set_message(format!("timing RPCs over shared memory for {time:.0?}"));
    bar.tick();
    findings.push(echo::finding(Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))?);
    bar.finish_and_clear();
    let rows: Vec<Row> = findings.iter().map(Finding::row).collect();
    output::print(args.format, &rows)
}
