//! The flags of the block level.

use nebula_workload::Mix;

use super::words::{Hog, Rates};
use crate::flags;

/// What only the block level has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Block level: each block goes through the memory of a --machine")]
pub(in super::super) struct BlocksArgs {
    /// Designs of NIC and RPC stack: names, or files; all six that ship unless given
    #[arg(long, value_name = "NAME|FILE.toml,…", value_delimiter = ',')]
    pub(super) design: Vec<String>,
    /// RPCs a second: 22MRPS, 5,10,22MRPS or 5..25MRPS:9; up to what the cores could serve unless given
    #[arg(long, value_name = "RATES")]
    pub(super) rate: Option<Rates>,
    /// What runs on it: one that ships with Nebula, or a file; kvs unless given
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(super) application: Option<String>,
    /// Weights of get and set, of a key-value store; its file's unless given
    #[arg(long)]
    pub(super) mix: Option<Mix>,
    /// Bytes of a value, of a key-value store; its file's unless given
    #[arg(long)]
    pub(super) value_bytes: Option<u32>,
    /// What another program on the machine moves to and from DRAM: 5GB/s; nothing unless given
    #[arg(long, value_name = "BANDWIDTH")]
    pub(super) hog: Option<Hog>,
    /// The shared receive buffer, in place of the machine's: 80KiB
    #[arg(long, value_name = "BYTES", value_parser = flags::bytes)]
    pub(super) receive_buffer: Option<u64>,
    /// Show where the time of an RPC and each byte of DRAM traffic went; with --plot, draw the time
    #[arg(long)]
    pub(super) breakdown: bool,
}
