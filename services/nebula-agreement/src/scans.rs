//! `nebula demo scans`: GETs and SCANs of an ordered store on one core; compares the p99 of each
//! with the laboratory's prediction from the measured handler times.

mod handlers;
mod measured;
mod predicted;
mod quiet;
mod requests;
mod setup;

use nebula_nic::Span;
use nebula_sim::Interval;

use crate::agreement::{PARTS, agree, shown};
use measured::Measured;
use nebula_sim::study::text::{digits, ends};
use nebula_ui::output::Format;
use nebula_ui::output::{Failure, Row, RowStream, note, units};
use nebula_ui::signal;
use nebula_ui::words;
use setup::{KINDS, Setup};

const EXAMPLES: &str = "Examples:
  nebula demo scans                        half a minute: RPCValet's Masstree, 99 % GET and 1 % SCAN of 100 pairs
  nebula demo scans --load 0.3,0.5,0.7 --format json
  nebula demo scans --keys 10k --duration 2s

One worker that is the engine too runs on one core, the client that sends on another. What waits behind a SCAN is late: that is most of the p99 of
a GET. `agree` says whether the interval of the run, pauses of the machine excluded, and that of the laboratory have a value in common; on a machine that
pauses all the time nothing is compared.";

/// Load one core with GETs and SCANs, and compare the p99 of each with the laboratory's
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Offered loads, as shares of what the core can serve
    #[arg(long, value_name = "LOAD,…", default_value = "0.3,0.5,0.7", value_delimiter = ',', value_parser = share)]
    load: Vec<f64>,
    /// Share of the SCANs
    #[arg(long, default_value_t = 0.01, value_parser = scans)]
    scans: f64,
    /// Pairs of a SCAN
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
    scan_items: u16,
    /// Number of keys
    #[arg(long, default_value = "1M", value_parser = words::count)]
    keys: u64,
    /// Duration of each load
    #[arg(long, default_value = "10s")]
    duration: Span,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.duration < Span::from_ms(500) || args.keys < 1000 {
        return Err(Failure::bad_input("--duration takes at least 500ms, and --keys at least 1000"));
    }
    let &Args { scans, scan_items, keys, duration, seed, .. } = args;
    let setup = Setup { scans, scan_items, keys, duration, seed };
    let stage = measured::Stage::set(&setup)?;
    let mut rows = RowStream::new(args.format);
    for &load in &args.load {
        let measured = stage.measure(&setup, load)?;
        signal::check()?;
        let predicted = predicted::predict(&setup, &measured)?;
        for (kind, predicted_us) in predicted.into_iter().enumerate() {
            rows.print(row(load, &measured, kind, predicted_us))?;
        }
    }
    rows.finish()?;
    note(format!(
        "intervals of the run are over {PARTS} parts of it, those of the laboratory over two replications of each; excluded is what was due \
         shortly before a pause of the machine, and after it until nothing was outstanding"
    ));
    Ok(())
}

fn row(load: f64, measured: &Measured, kind: usize, predicted: Option<Interval>) -> Row {
    let seen = measured.p99_us[kind];
    let raw = measured.raw_p99_us[kind];
    let agrees = seen.zip(predicted).map(|(seen, predicted)| agree(seen, predicted));
    let service = measured.service_mean[kind];
    let (value, ci) = (|p99: Interval| digits(p99.value), ends);
    let us = |p99: Option<Interval>| p99.map_or("–".to_owned(), |p99| shown(p99, 2));
    Row::new()
        .field("load", load)
        .field("type", KINDS[kind])
        .field("offered_rps", digits(measured.rate_rps))
        .field("rpcs", measured.rpcs[kind])
        .field("service_ns_mean", digits(service.as_ns_f64()))
        .field("between_ns", measured.beside.core.as_ns())
        .field("way_ns", measured.beside.way[kind].as_ns())
        .field("latency_us_p99", raw.map(value))
        .field("latency_us_p99_ci", raw.map(ci))
        .field("latency_us_p99_gaps_excluded", seen.map(value))
        .field("latency_us_p99_gaps_excluded_ci", seen.map(ci))
        .field("kept", digits(measured.kept))
        .field("predicted_latency_us_p99", predicted.map(value))
        .field("predicted_latency_us_p99_ci", predicted.map(ci))
        .field("agrees", agrees)
        .word("type", format!("{:<4}", KINDS[kind]))
        .shown("load", format!("{load:.2}"))
        .shown("RPC/s", units::rate(measured.rate_rps))
        .shown("RPCs", measured.rpcs[kind].to_string())
        .shown("service", units::span(service))
        .shown("p99, µs", us(raw))
        .shown("pauses\nexcluded", us(seen))
        .shown("kept", units::percent(measured.kept))
        .shown("predicted", us(predicted))
        .shown("agree", agrees.map_or("–", |agrees| if agrees { "yes" } else { "no" }))
}

fn share(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| "numbers are expected, such as 0.3,0.5".to_owned())?;
    if load > 0.0 && load <= 0.9 { Ok(load) } else { Err("give loads above 0 and up to 0.9".to_owned()) }
}

fn scans(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "a number is expected, such as 0.01".to_owned())?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("give a share above 0 and below 1".to_owned()) }
}
