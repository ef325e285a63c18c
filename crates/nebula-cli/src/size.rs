//! `nebula size`: sizes receive buffer and tables.
//!
//! Without `--service`, it applies the papers' rule for exponential service times. With a service and an SLO, it uses a formula if one is
//! exact, and simulates otherwise.

mod service;

use nebula_nic::{Policy, Sizing};
use nebula_workload::ServiceTime;

use crate::flags::{self, EffortArgs, Format, Slo};
use crate::output::{self, Failure, Row, units};

const EXAMPLES: &str = "Examples:
  nebula size                                              the papers' server: 64 cores at E[Nq] = 54
  nebula size --cores 16 --load 0.9,0.95,0.98 --rpc-bytes 576
  nebula size --cores 2 --load 0.9 --format json
  nebula size --service exp:630ns --cores 16 --policy single-queue           at the highest load with p99 within 10x
  nebula size --service trace:get.csv --slo 50us --cores 4,16,64 --rpc-bytes 528
  nebula size --service lognormal:mean=1us,scv=4 --load 0.8 --precision 5%

The buffer has room for ten times the mean number of waiting RPCs, E[Nq], independent of the number of clients. Without --service, E[Nq] is that of exponential service times (Erlang C). With --service, it is that of the service under --policy, at --load or at the highest load that meets the SLO: from a formula if one is exact (exp under single-queue or jbsq:1), otherwise simulated, with confidence intervals. The buffer then also has room for at least the RPCs that the cores hold. The queue bound is the longest queue at which an arriving RPC meets the SLO with a probability of 99 %, if service times are exponential. Pass it to nebula simulate --queue-bound.";

/// Size receive buffer, bitvector and reassembler, for a load or for a service and its SLO
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Cores of the server
    #[arg(long, value_delimiter = ',', default_value = "64")]
    cores: Vec<u32>,
    /// Load, as a share of core time between 0 and 1 [default: 0.984375, or with --service the highest that meets the SLO]
    #[arg(long, value_delimiter = ',')]
    load: Vec<f64>,
    /// Mean size of a request, in bytes
    #[arg(long, default_value_t = 1024)]
    rpc_bytes: u32,
    /// Service time of an RPC, in the syntax of nebula simulate
    #[arg(long, value_parser = flags::service)]
    service: Option<ServiceTime>,
    /// SLO on the p99 latency: 50us, or 10x the mean service time [default: 10x]
    #[arg(long, requires = "service")]
    slo: Option<Slo>,
    /// Dispatch policies [default: jbsq:2]
    #[arg(long, requires = "service")]
    policy: Option<Policy>,
    #[command(flatten)]
    effort: EffortArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The load at which on average 54 RPCs wait for the papers' 64 cores.
const LOAD: f64 = 0.984_375;

/// Prints a row for each number of cores and each load.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let rows = match &args.service {
        Some(service) => service::rows(args, service)?,
        None => plain_rows(args)?,
    };
    output::print(args.format, &rows)
}

fn plain_rows(args: &Args) -> Result<Vec<Row>, Failure> {
    let loads = if args.load.is_empty() { &[LOAD] } else { &args.load[..] };
    let pairs = args.cores.iter().flat_map(|&cores| loads.iter().map(move |&load| (cores, load)));
    pairs.map(|(cores, load)| plain_row(cores, load, args.rpc_bytes)).collect()
}

fn plain_row(cores: u32, load: f64, rpc_bytes: u32) -> Result<Row, Failure> {
    let sizing = Sizing::new(cores, load, rpc_bytes).map_err(Failure::bad_input)?;
    let row = with_sizing(Row::new().field("cores", cores).field("load", load), &sizing);
    let row = row.shown("cores", cores.to_string()).shown("load", load.to_string());
    let row = row.shown("E[Nq]", format!("{:.2}", sizing.queue_depth_mean));
    Ok(with_sizing_shown(row, &sizing))
}

fn with_sizing(row: Row, sizing: &Sizing) -> Row {
    row.field("queue_depth_mean", sizing.queue_depth_mean)
        .field("buffer_slots", sizing.buffer_slots)
        .field("buffer_bytes", sizing.buffer_bytes)
        .field("bitvector_bytes", sizing.bitvector_bytes)
        .field("reassembler_entries", sizing.reassembler_entries)
}

fn with_sizing_shown(row: Row, sizing: &Sizing) -> Row {
    row.shown("buffer slots", sizing.buffer_slots.to_string())
        .shown("buffer", units::bytes(sizing.buffer_bytes))
        .shown("bitvector", units::bytes(sizing.bitvector_bytes))
        .shown("reassembler entries", sizing.reassembler_entries.to_string())
}
