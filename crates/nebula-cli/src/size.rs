//! `nebula size`: how large receive buffer and tables have to be.
//!
//! Plain, by the papers' rule for exponential service times. For a service and an SLO, by formula where one is exact and simulated where
//! none is.

mod service;

use nebula_nic::{Policy, Sizing};
use nebula_workload::ServiceTime;

use crate::flags::{self, EffortArgs, Format, Slo};
use crate::output::{self, Failure, Row, units};

const EXAMPLES: &str = "Examples:
  nebula size                                              the papers' server: 64 cores at E[Nq] = 54
  nebula size --cores 16 --load 0.9,0.95,0.98 --rpc-bytes 576
  nebula size --cores 2 --load 0.9 --format json
  nebula size --service exp:630ns --cores 16 --policy single-queue           at the highest load that keeps p99 within 10x
  nebula size --service trace:get.csv --slo 50us --cores 4,16,64 --rpc-bytes 528
  nebula size --service lognormal:mean=1us,scv=4 --load 0.8 --precision 5%

The buffer holds ten times the RPCs that wait on average (E[Nq]), whatever the number of clients. Plain, they are those of
exponential service times (Erlang C). With --service they are those of that service under --policy, at --load or at the highest
load that keeps the SLO: by formula where one is exact (exp under single-queue or jbsq:1), simulated with intervals elsewhere; and
the buffer holds what the cores do at least. The queue bound is the longest queue that an RPC may find and still keep the SLO, 99
times of 100, if service times vary like an exponential: give it to simulate --queue-bound.";

/// Size receive buffer, bitvector and reassembler for a number of cores and a load, or for a service and its SLO
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Cores that serve
    #[arg(long, value_delimiter = ',', default_value = "64")]
    cores: Vec<u32>,
    /// Share of the cores' time that RPCs take, above 0 and below 1; 0.984375, or the highest that keeps the SLO, unless given
    #[arg(long, value_delimiter = ',')]
    load: Vec<f64>,
    /// Bytes of a mean request
    #[arg(long, default_value_t = 1024)]
    rpc_bytes: u32,
    /// How long an RPC keeps its core, as simulate spells it
    #[arg(long, value_parser = flags::service)]
    service: Option<ServiceTime>,
    /// Bound that 99 % of RPCs are to keep: 50us, or 10x the mean service time, which it is unless given
    #[arg(long, requires = "service")]
    slo: Option<Slo>,
    /// How RPCs are given to cores; jbsq:2 unless given
    #[arg(long, requires = "service")]
    policy: Option<Policy>,
    #[command(flatten)]
    effort: EffortArgs,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The load of the papers' 64 cores at which 54 RPCs wait on average.
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
