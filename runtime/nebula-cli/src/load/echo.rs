//! `nebula load echo`: the open-loop client of `nebula serve echo`.

use std::path::PathBuf;

use nebula::{Balance, FlowKind};
use nebula_nic::Span;
use nebula_workload::{Arrivals, Keys, Rate, Seed};

use super::args::{Output, carry_out};
use crate::drive::{Exchange, LoadPlan};
use crate::flags::{Format, ServerList};
use crate::{flags, report};
use nebula_ui::output::Failure;
use nebula_ui::signal;

const EXAMPLES: &str = "Examples:
  nebula load echo --rate 200k                            64 B there and back, for 5 s
  nebula load echo --rate 1M --bytes 512 --clients 2
  nebula load echo --find-slo 50us --format json          the highest rate whose p99 is within 50 µs
  nebula load echo --endpoint udp://127.0.0.1:7400 --rate 50k
  nebula load echo --endpoint udp://127.0.0.1:7400 --flow homa --bytes 65536 --clients 16 --rate 5k    long requests, as the server grants them

Every reply is compared with its request. Rows and exit codes are those of nebula load kv.";

/// Generate open-loop load for an echo and measure its latency
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadArgs {
    /// Endpoint of the server: shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or
    /// xdp://INTERFACE/ADDRESS:PORT; several with commas between them
    #[arg(long, default_value = "shm://echo")]
    endpoint: ServerList,
    /// RPCs per second, summed over all clients; the first rate of --find-slo
    #[arg(long, default_value = "200k")]
    rate: Rate,
    /// Size of a request, and so of its reply, in bytes
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    bytes: u32,
    /// Duration of the measurement [default: 5s, or 1s for each load of --find-slo]
    #[arg(long)]
    duration: Option<Span>,
    /// Duration of the warm-up, which is not measured [default: 1s, or 200ms with --find-slo]
    #[arg(long)]
    warm_up: Option<Span>,
    /// Arrival process: poisson, paced
    #[arg(long, default_value = "poisson")]
    arrivals: Arrivals,
    /// Client threads, each with a connection and a share of the rate
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long an RPC may wait for room in its client before it is refused there [default: as long
    /// as it can still keep the server's SLO, or 10ms without one]
    #[arg(long)]
    patience: Option<Span>,
    /// Key file shared with the server, for udp:// or tcp://
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Use udp:// or tcp:// to another machine without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// What may be on the way to a udp:// or tcp:// server: window follows what is answered,
    /// refused and lost, homa what the server grants, none is no bound [default: window]
    #[arg(long, value_name = "window|homa|none")]
    flow: Option<FlowKind>,
    /// Cores to pin client threads to, round-robin
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// Search for the highest rate whose p99 is within this bound
    #[arg(long, value_name = "SLO")]
    find_slo: Option<Span>,
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A request is the value of its key.
const KEYS: u64 = 1 << 20;

pub(crate) fn run_load(args: LoadArgs) -> Result<(), Failure> {
    signal::catch()?;
    args.report.as_deref().map_or(Ok(()), |path| report::check_directory("--report", path))?;
    let (duration, warm_up) = match args.find_slo {
        Some(_) => (Span::from_secs(1), Span::from_ms(200)),
        None => (Span::from_secs(5), Span::from_secs(1)),
    };
    let plan = LoadPlan {
        exchange: Exchange::Echo,
        flow: flags::flow(args.flow, &args.endpoint)?,
        network_keys: flags::read_keys(args.key_file.as_deref(), args.endpoint.has_network())?,
        endpoint: args.endpoint,
        balance: Balance::RoundRobin,
        rate: args.rate,
        duration: args.duration.unwrap_or(duration),
        warm_up: args.warm_up.unwrap_or(warm_up),
        arrivals: args.arrivals,
        key_count: KEYS,
        keys: Keys::default(),
        // Only a SET carries a value.
        mix: flags::mix("get=0,set=100").map_err(Failure::bad_input)?,
        value_bytes: args.bytes,
        clients: args.clients,
        seed: Seed(args.seed),
        patience: args.patience,
        pin: args.pin,
        insecure: args.insecure,
        ..LoadPlan::default()
    };
    carry_out(&plan, args.find_slo, &Output { format: args.format, report: args.report })
}
