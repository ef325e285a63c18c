//! `nebula demo groups`: loads one group of `altocumulus:2` more than the other, with and without
//! migration, and compares with the laboratory's prediction from the measured service times.
//!
//! Handlers sleep instead of computing, so that many workers run on two cores.

mod beside;
mod handler;
mod measured;
mod predicted;
mod setup;

use nebula_nic::Span;
use nebula_sim::Interval;

use crate::agreement::{PARTS, agree, shown};
use measured::Measured;
use nebula_sim::study::text::{digits, ends};
use nebula_ui::output::Format;
use nebula_ui::output::{Failure, Row, RowStream, note, units};
use nebula_ui::signal;
use predicted::Predicted;
use setup::{GROUPS, SLO, Setup};

const EXAMPLES: &str = "Examples:
  nebula demo groups                       a minute and a half
  nebula demo groups --duration 5s --format json
  nebula demo groups --service 10ms --load 0.55
  nebula demo groups --waiting-max 4       hand RPCs over earlier

Three of four clients belong to one of two groups. Without migration those wait while the other group's workers are idle. Handlers sleep, as
many workers would not fit on few cores; a time below a millisecond is more the machine's than the handler's.";

/// Load one of two groups more than the other, with and without migration
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mean time of a handler, exponentially distributed; the SLO is ten times as long
    #[arg(long, default_value = "5ms")]
    service: Span,
    /// Offered load, as a share of what all workers can serve
    #[arg(long, default_value_t = 0.6, value_parser = share)]
    load: f64,
    /// Workers of both groups together
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=64))]
    workers: u16,
    /// RPCs that may wait in a group before it hands the newest over [default: half of what meets
    /// the SLO]
    #[arg(long, value_name = "RPCS")]
    waiting_max: Option<u32>,
    /// Duration of each of the two runs
    #[arg(long, default_value = "30s")]
    duration: Span,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn setup(args: &Args, migrates: bool) -> Setup {
    let half = u32::from(args.workers / GROUPS) * u32::try_from(SLO).unwrap_or(u32::MAX) / 2;
    let &Args { service, load, workers, waiting_max, duration, seed, .. } = args;
    let waiting_max = migrates.then(|| waiting_max.unwrap_or(half));
    Setup { service, load, workers, waiting_max, duration, seed }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.service < Span::from_us(100) || args.duration < args.service * 1000 {
        return Err(Failure::bad_input(
            "--service takes at least 100us, and --duration at least a thousand times --service",
        ));
    }
    let mut rows = RowStream::new(args.format);
    for migrates in [false, true] {
        let setup = setup(args, migrates);
        let measured = measured::measure(&setup)?;
        signal::check()?;
        let predicted = predicted::predict(&setup, &measured)?;
        rows.print(row(&setup, &measured, &predicted))?;
    }
    rows.finish()?;
    note(format!(
        "late: the share of RPCs beyond {}. Measured intervals are over {PARTS} parts of a run; predicted ones over replications as long as a part, \
         from what was measured in the same run: the times of handlers, between them, from sending to an idle worker, and to the other group",
        units::span(args.service * SLO),
    ));
    Ok(())
}

fn row(setup: &Setup, measured: &Measured, predicted: &Predicted) -> Row {
    let meets = agree(measured.p99_ms, predicted.p99_ms) && agree(measured.late, predicted.late);
    let percent = |Interval { value, lo, hi }: Interval| {
        shown(Interval { value: 100.0 * value, lo: 100.0 * lo, hi: 100.0 * hi }, 3)
    };
    let name = if setup.waiting_max.is_some() { "migration" } else { "none" };
    Row::new()
        .field("migration", setup.waiting_max.is_some())
        .field("waiting_max", setup.waiting_max)
        .field("workers", u32::from(setup.workers))
        .field("offered_rps", digits(setup.rate_rps()))
        .field("service_ns_mean", measured.service_mean.as_ns())
        .field("between_ns", measured.beside.between.as_ns())
        .field("start_ns", measured.beside.start.as_ns())
        .field("message_ns", measured.beside.message.as_ns())
        .field("back_ns", measured.beside.back.as_ns())
        .field("slo_ns", setup.slo().as_ns())
        .field("rpcs", measured.rpcs)
        .field("migrated", digits(measured.migrated))
        .field("latency_ms_p99", digits(measured.p99_ms.value))
        .field("latency_ms_p99_ci", ends(measured.p99_ms))
        .field("late", digits(measured.late.value))
        .field("late_ci", ends(measured.late))
        .field("predicted_latency_ms_p99", digits(predicted.p99_ms.value))
        .field("predicted_latency_ms_p99_ci", ends(predicted.p99_ms))
        .field("predicted_late", digits(predicted.late.value))
        .field("predicted_late_ci", ends(predicted.late))
        .field("predicted_migrated", digits(predicted.migrated))
        .field("agrees", meets)
        .word("migration", format!("{name:<9}"))
        .shown(
            "migrated\n(predicted)",
            format!("{} ({})", units::percent(measured.migrated), units::percent(predicted.migrated)),
        )
        .shown("between\nhandlers", units::span(measured.beside.between))
        .shown("p99, ms", shown(measured.p99_ms, 2))
        .shown("predicted", shown(predicted.p99_ms, 2))
        .shown("late, %", percent(measured.late))
        .shown("predicted\nlate, %", percent(predicted.late))
        .shown("agree", if meets { "yes" } else { "no" })
}

fn share(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| "a number is expected, such as 0.6".to_owned())?;
    if load > 0.0 && load < 0.66 {
        Ok(load)
    } else {
        Err("at 0.66 and beyond one group cannot serve its share: give less".to_owned())
    }
}
