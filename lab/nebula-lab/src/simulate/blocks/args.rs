//! The flags of the block level.

use nebula_workload::Mix;

use super::words::{Hog, Rates, Set};
use crate::words;

/// The flags that only the block level has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Block level: with --machine, caches and DRAM are simulated")]
pub(in super::super) struct BlocksArgs {
    /// Designs of NIC and RPC stack, by name or file [default: the six of NEBULA's evaluation]
    #[arg(long, value_name = "NAME|FILE.toml,…", value_delimiter = ',')]
    pub(super) design: Vec<String>,
    /// Offered RPCs per second: 22MRPS, 5,10,22MRPS or 5..25MRPS:9 [default: six rates up to
    /// saturation]
    #[arg(long, value_name = "RATES")]
    pub(super) rate: Option<Rates>,
    /// Change a key of the machine, with its sections, or of the designs: memory.dram.banks=32,
    /// nic_ways=4; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<Set>,
    /// Application: a name that ships with Nebula, or a file [default: kvs]
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(super) application: Option<String>,
    /// Weights of GET and SET of a key-value store [default: from the application]
    #[arg(long, value_parser = words::mix)]
    pub(super) mix: Option<Mix>,
    /// Size of a value of a key-value store, in bytes [default: from the application]
    #[arg(long)]
    pub(super) value_bytes: Option<u32>,
    /// DRAM bandwidth used by another program on the machine: 5GB/s [default: none]
    #[arg(long, value_name = "BANDWIDTH")]
    pub(super) hog: Option<Hog>,
    /// Size of the shared receive buffer: 80KiB [default: from the machine]
    #[arg(long, value_name = "BYTES", value_parser = words::bytes)]
    pub(super) receive_buffer: Option<u64>,
    /// Show the time of an RPC by stage and the DRAM traffic by cause; with --plot, draw the time
    #[arg(long)]
    pub(in super::super) breakdown: bool,
}
