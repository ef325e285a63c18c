//! `size`: room for a receive buffer and tables.
//!
//! Without `--service`, it applies the papers' rule for exponential service times. With a service and an SLO, it uses a formula if one is
//! exact, and simulates otherwise. With a rate, cores are the answer; of a [server that runs](Running), rate and service are what was measured.

mod planner;
mod running;
mod service;

pub use running::Running;

use std::path::PathBuf;

use nebula_nic::{Policy, Sizing};
use nebula_sim::study::{Row, units};
use nebula_workload::{Arrivals, Column, Rate, ServiceTime};

use crate::words::{self, EffortArgs, Slo, parsed};
use crate::{Answer, Failure, Progress, Workers};

/// A server, and its load or its SLO.
#[derive(Debug, clap::Args)]
pub struct Question {
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
    #[arg(long, value_parser = words::service)]
    service: Option<ServiceTime>,
    /// SLO on the p99 latency: 50us, or 10x the mean service time [default: 10x]
    #[arg(long)]
    slo: Option<Slo>,
    /// Dispatch policies [default: jbsq:2]
    #[arg(long)]
    policy: Option<Policy>,
    /// RPCs per second that all servers get: the fewest cores that keep the SLO are the answer
    #[arg(long, value_name = "RATE", conflicts_with_all = ["cores", "load"])]
    rate: Option<Rate>,
    /// Highest rate that must keep the SLO as well
    #[arg(long, value_name = "RATE", requires = "rate")]
    peak: Option<Rate>,
    /// Log of the service: its times by endpoint, in CSV
    #[arg(long, value_name = "FILE.csv", requires = "rate", conflicts_with = "service")]
    trace: Option<PathBuf>,
    /// Column of the log with the times, and their unit [default: the one whose name ends in a unit, such as duration_us]
    #[arg(long, value_name = "NAME=UNIT", requires = "trace")]
    column: Option<Column>,
    /// Servers that share the rate
    #[arg(long, requires = "rate", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    servers: u16,
    /// Arrival process at a server, in the syntax of nebula simulate
    #[arg(long, default_value = "poisson", requires = "rate", value_parser = words::arrivals)]
    arrivals: Arrivals,
    #[command(flatten)]
    effort: EffortArgs,
}

/// The load at which on average 54 RPCs wait for the papers' 64 cores.
const LOAD: f64 = 0.984_375;

impl Question {
    /// The question in these words: flags and their values, as after `nebula size`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and what there is instead.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        Ok(parsed("size", words)?.0)
    }

    /// A row for each number of cores and each load.
    ///
    /// # Errors
    ///
    /// Invalid input, or a queue that grows without limit.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Answer, Failure> {
        self.ask_on(&self.effort.workers()?, progress)
    }

    /// What the server that runs keeps, and what one of its load needs. Its service times and its rate are taken where the question has none.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub fn ask_of(&self, running: &Running, progress: &dyn Progress) -> Result<Answer, Failure> {
        running::answer(self, running, &self.effort.workers()?, progress)
    }

    /// [`ask`](Self::ask), on these workers.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub fn ask_on(&self, workers: &Workers, progress: &dyn Progress) -> Result<Answer, Failure> {
        match (&self.service, self.rate) {
            (_, Some(rate)) => planner::answer(self, rate, workers, progress),
            (Some(service), None) => service::answer(self, service, workers, progress),
            (None, None) if self.slo.is_some() || self.policy.is_some() => {
                let flag = if self.slo.is_some() { "--slo" } else { "--policy" };
                Err(Failure::bad_input(format!("{flag} needs service times: give a law with --service")))
            }
            (None, None) => Ok(Answer { rows: plain_rows(self)?, ..Answer::default() }),
        }
    }
}

fn plain_rows(args: &Question) -> Result<Vec<Row>, Failure> {
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
