//! The demo's flags, and the loads that it offers.

use std::path::PathBuf;

use nebula_nic::Span;

use crate::flags::{self, Format};

/// As shares of the saturation rate.
pub(super) const LOADS: [f64; 4] = [0.3, 0.7, 1.0, 1.5];

/// Flags of the demo itself.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// SLO on the p99 latency [default: 100us to 50ms, what this machine can promise under load]
    #[arg(long)]
    pub(super) slo: Option<Span>,
    /// Computation time of each RPC, in addition to the store access
    #[arg(long, default_value = "1us")]
    pub(super) work: Span,
    /// Key-value pairs to store [default: 200k, or as many as fit into free memory]
    #[arg(long, value_parser = flags::count)]
    pub(super) items: Option<u64>,
    /// Size of each value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    pub(super) value_bytes: u32,
    /// Duration of each load, in seconds [default: 3]
    #[arg(long, value_name = "SECONDS")]
    pub(super) seconds_per_point: Option<f64>,
    /// Use a small store and short loads
    #[arg(long)]
    pub(super) quick: bool,
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE", default_value = "nebula-report.html")]
    pub(super) report: PathBuf,
    /// Do not write a report
    #[arg(long, conflicts_with = "report")]
    pub(super) no_report: bool,
    /// Draw the p99 of both designs over the offered load to this SVG file
    #[arg(long, value_name = "FILE.svg")]
    pub(super) plot: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
