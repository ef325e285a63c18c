//! A server to size, and the fields of its sizes.

use std::path::PathBuf;

use nebula_nic::{Policy, Sizing};
use nebula_sim::study::{Row, units};
use nebula_workload::{Arrivals, Column, Rate, ServiceTime};

use crate::words::{self, EffortArgs, Slo};

/// A server, and its load or its SLO.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Cores of the server
    #[arg(long, value_delimiter = ',', default_value = "64")]
    pub(super) cores: Vec<u32>,
    /// Load, as a share of core time between 0 and 1 [default: 0.984375, or with --service the
    /// highest that meets the SLO]
    #[arg(long, value_delimiter = ',')]
    pub(super) load: Vec<f64>,
    /// Mean size of a request, in bytes
    #[arg(long, default_value_t = 1024)]
    pub(super) rpc_bytes: u32,
    /// Service time of an RPC, in the syntax of nebula simulate
    #[arg(long, value_parser = words::service)]
    pub(super) service: Option<ServiceTime>,
    /// SLO on the p99 latency: 50us, or 10x the mean service time [default: 10x]
    #[arg(long)]
    pub(super) slo: Option<Slo>,
    /// Dispatch policies [default: jbsq:2]
    #[arg(long)]
    pub(super) policy: Option<Policy>,
    /// RPCs per second that all servers get: the fewest cores that keep the SLO are the answer
    #[arg(long, value_name = "RATE", conflicts_with_all = ["cores", "load"])]
    pub(super) rate: Option<Rate>,
    /// Highest rate that must keep the SLO as well
    #[arg(long, value_name = "RATE", requires = "rate")]
    pub(super) peak: Option<Rate>,
    /// Log of the service: its times by endpoint, in CSV
    #[arg(long, value_name = "FILE.csv", requires = "rate", conflicts_with = "service")]
    pub(super) trace: Option<PathBuf>,
    /// Column of the log with the times, and their unit [default: the one whose name ends in a
    /// unit, such as duration_us]
    #[arg(long, value_name = "NAME=UNIT", requires = "trace")]
    pub(super) column: Option<Column>,
    /// Servers that share the rate
    #[arg(long, requires = "rate", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) servers: u16,
    /// Arrival process at a server, in the syntax of nebula simulate
    #[arg(long, default_value = "poisson", requires = "rate", value_parser = words::arrivals)]
    pub(super) arrivals: Arrivals,
    #[command(flatten)]
    pub(super) effort: EffortArgs,
}

pub(super) fn with_sizing(row: Row, sizing: &Sizing) -> Row {
    row.field("queue_depth_mean", sizing.queue_depth_mean)
        .field("buffer_slots", sizing.buffer_slots)
        .field("buffer_bytes", sizing.buffer_bytes)
        .field("bitvector_bytes", sizing.bitvector_bytes)
        .field("reassembler_entries", sizing.reassembler_entries)
}

pub(super) fn with_sizing_shown(row: Row, sizing: &Sizing) -> Row {
    row.shown("buffer slots", sizing.buffer_slots.to_string())
        .shown("buffer", units::bytes(sizing.buffer_bytes))
        .shown("bitvector", units::bytes(sizing.bitvector_bytes))
        .shown("reassembler entries", sizing.reassembler_entries.to_string())
}
