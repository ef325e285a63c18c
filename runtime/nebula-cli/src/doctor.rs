//! `nebula doctor`: checks this machine and says how to fix what it finds.

mod counters;
mod echo;
mod finding;
mod kernel;
mod pauses;
mod machine;
mod speed;

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use nebula_nic::Span;

use crate::flags::Format;
use crate::hiccup;
use counters::Counters;
use finding::Finding;
use nebula_ui::output::{self, Failure, Row};
use nebula_ui::signal;

const EXAMPLES: &str = "Examples:
  nebula doctor
  nebula doctor --seconds 10 --format json

The pauses of the cores set a lower bound on the p99 latency of any software that runs on them: the p99 floor. A measured p99 below that floor is missing some RPCs. Each check has its effect measured here and now; where it is not well, there is what to do, and the command for it where there is one.";

/// Check this machine (cores, pauses, isolation, timer, interrupts, steal, frequency, pages, NUMA,
/// clock, memory) and say how to fix problems
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Duration of each of the two measurements, pauses and round trips, in seconds
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("expected seconds from 0.01 to 3600, such as 2.5, not {text:?}"))
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    let time = Duration::from_secs_f64(args.seconds);
    let bar = ProgressBar::new_spinner();
    let mut findings = machine::findings();
    bar.set_message(format!("watching two cores for pauses for {time:.0?}"));
    bar.tick();
    let (before, began) = (Counters::now(), Instant::now());
    let hiccups = hiccup::watch(time)?;
    let (after, watched) = (Counters::now(), began.elapsed());
    findings.extend(pauses::findings(&hiccups));
    findings.extend(kernel::findings((&before, &after, watched), &hiccups));
    signal::check()?;
    bar.set_message("timing cores and memory");
    bar.tick();
    findings.extend(speed::findings());
    signal::check()?;
    bar.set_message(format!("timing RPCs over shared memory for {time:.0?}"));
    bar.tick();
    findings.push(echo::finding(Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))?);
    bar.finish_and_clear();
    let rows: Vec<Row> = findings.iter().map(Finding::row).collect();
    output::print(args.format, &rows)
}
