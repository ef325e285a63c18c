//! `nebula thresholds`: trains the thresholds of `altocumulus:G` for a group of cores, its service
//! times and arrivals.

use std::path::{Path, PathBuf};

use nebula_lab::Progress;
use nebula_nic::Span;
use nebula_nic::schedule::ThresholdRow;
use nebula_sim::Load;
use nebula_sim::altocumulus::{MonotoneRow, ThresholdTable, Training};
use nebula_workload::{Arrivals, Seed, ServiceTime};

use nebula_lab::words::{self, Loads, Slo};
use nebula_ui::output::{self, Failure, Format, Row, units};

const EXAMPLES: &str = "Examples:
  nebula thresholds --workers 16                            exponential service, an SLO of ten services
  nebula thresholds --workers 31 --service bimodal:500ns@0.9,5500ns@0.1 --slo 20us
  nebula thresholds --workers 16 --arrivals mmpp2:5x,0.1,20us --write bursts.toml
  nebula simulate --policy altocumulus:16 --cores 256 --thresholds bursts.toml --load 0.9

A threshold is the queue length from which an RPC is predicted to miss the SLO. One group is simulated at each load, and for
each RPC it is noted how many waited when it came and whether it was late. alone is the threshold with the best harmonic mean of
accuracy (RPCs predicted late that were late) and effectiveness (late RPCs that were predicted) at that load; waiting is the table that
managers look up, which never falls as the load rises. A load with fewer than 100 late RPCs, or whose best threshold predicts next to
nothing, takes the next one's.";

/// Train the thresholds of altocumulus:G: from which queue length on RPCs miss the SLO, by load
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Cores of a group that serve RPCs
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// RPCs given to a core at most: 2 if a NIC dispatches, 1 if software does
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    bound: u32,
    /// Service time of an RPC, in the syntax of nebula simulate
    #[arg(long, default_value = "exp:1us", value_parser = words::service)]
    service: ServiceTime,
    /// Arrival process at a group, in the syntax of nebula simulate
    #[arg(long, default_value = "poisson", value_parser = words::arrivals)]
    arrivals: Arrivals,
    /// SLO on the latency: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    slo: Slo,
    /// Loads to train at, rising, as shares of the cores' time
    #[arg(long, default_value = "0.5,0.6,0.7,0.75,0.8,0.85,0.9,0.925,0.95,0.97,0.98")]
    load: Loads,
    /// RPCs of each replication
    #[arg(long, default_value = "250k", value_parser = words::count)]
    rpcs: u64,
    /// Replications of each load
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    replications: u32,
    /// Seed of all random numbers; the same seed gives the same output
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to run replications on [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Write the table to this file, for nebula simulate --thresholds
    #[arg(long, value_name = "FILE.toml")]
    write: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let training = training(args)?;
    let threads = nebula_sim::study::Threads::try_new(args.threads)?;
    let bar = crate::progress::Bar::of_replications();
    bar.expect(training.loads_permille.len() as u64 * u64::from(training.replications));
    let rows = threads.install(|| training.train_monotone(&|| bar.step()));
    bar.finish();
    let rows = rows?;
    output::print(args.format, &rows.iter().map(|row| printed(&training, row)).collect::<Vec<_>>())?;
    match &args.write {
        Some(path) => write(path, training, &rows),
        None => Ok(()),
    }
}

fn training(args: &Args) -> Result<Training, Failure> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share below 1")]
    let permille = |load: &f64| (load * 1000.0).round() as u32;
    let loads: Vec<u32> = args.load.0.iter().map(permille).collect();
    let rise = loads.windows(2).all(|pair| pair[0] < pair[1]);
    if !rise || !loads.iter().all(|load| (1..1000).contains(load)) {
        return Err(Failure::bad_input("--load: give loads that rise, in thousandths, above 0 and below 1"));
    }
    let load = Load::open(args.service.clone(), 0.5);
    let slo: Span = args.slo.of(&load);
    let training = Training::new(args.workers, args.service.clone(), slo).arrivals(args.arrivals.clone());
    let training = training.loads_permille(loads).rpcs(args.rpcs).replications(args.replications).seed(Seed(args.seed));
    Ok(Training { bound: args.bound, ..training })
}

fn printed(training: &Training, row: &MonotoneRow) -> Row {
    let (alone, judged) = (&row.alone, &row.judged);
    let load = f64::from(alone.load_permille) / 1000.0;
    Row::new()
        .field("workers", u32::from(training.workers))
        .field("service", training.service.to_string())
        .field("arrivals", training.arrivals.to_string())
        .field("slo_ns", training.slo.as_ns_f64())
        .field("load", load)
        .field("queue_mean", alone.queue_mean)
        .field("late", alone.late)
        .field("aggressive", alone.aggressive)
        .field("naive", training.naive())
        .field("alone", alone.trained)
        .field("waiting", row.waiting)
        .field("accuracy", judged.accuracy)
        .field("effectiveness", judged.effectiveness)
        .shown("load", output::text::load(load))
        .shown("late RPCs", alone.late.to_string())
        .shown("aggressive", alone.aggressive.to_string())
        .shown("alone", alone.trained.to_string())
        .shown("waiting", row.waiting.to_string())
        .shown("naive", training.naive().to_string())
        .shown("accuracy", units::percent(judged.accuracy))
        .shown("effectiveness", units::percent(judged.effectiveness))
}

fn write(path: &Path, training: Training, rows: &[MonotoneRow]) -> Result<(), Failure> {
    let table = ThresholdTable { training, rows: rows.iter().map(ThresholdRow::from).collect() };
    let text = format!("# Thresholds of a group, by load. Written by `nebula thresholds`.\n\n{}", table.to_toml());
    std::fs::write(path, text).map_err(|error| Failure::fault(format!("cannot write {}: {error}", path.display())))?;
    output::note(format!("wrote {}: pass it to nebula simulate with --thresholds", path.display()));
    Ok(())
}
