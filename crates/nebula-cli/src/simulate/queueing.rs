//! The flags of the queueing level: cores, a policy, the time that an RPC takes.

use nebula_nic::{Policy, Span};
use nebula_workload::ServiceTime;

use super::words::Reaction;
use crate::flags::{self, Loads};

/// What only the queueing level has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Queueing level: an RPC takes a given time")]
pub(super) struct QueueingArgs {
    /// How RPCs are given to cores; several give a row each
    #[arg(long, value_delimiter = ',', default_value = "jbsq:2")]
    pub(super) policy: Vec<Policy>,
    /// Cores of a server
    #[arg(long, default_value_t = 64)]
    pub(super) cores: u16,
    /// How long an RPC keeps its core
    #[arg(long, default_value = "exp:1us", value_parser = flags::service)]
    pub(super) service: ServiceTime,
    /// Shares of the cores' time that are offered: 0.5,0.9 or 0.5..0.99:20; 0.5,0.9 unless given
    #[arg(long, conflicts_with = "clients")]
    pub(super) load: Option<Loads>,
    /// Closed loop: so many clients, each with one RPC at a time
    #[arg(long, value_name = "N")]
    pub(super) clients: Option<u32>,
    /// How long a client waits between an answer and its next RPC; nothing unless given
    #[arg(long, value_name = "SERVICE", value_parser = flags::service, requires = "clients")]
    pub(super) think: Option<ServiceTime>,
    /// RPCs that may wait at a server; one more is NACKed
    #[arg(long, value_name = "N")]
    pub(super) queue_bound: Option<u32>,
    /// What a client does after a NACK: drop, retry:FIRST or retry:FIRST,TRIES with back-off doubling from FIRST, or another server
    #[arg(long, default_value = "drop")]
    pub(super) on_nack: Reaction,
    /// Servers that share the load, each RPC going to one by chance
    #[arg(long, default_value_t = 1)]
    pub(super) servers: u16,
    /// From an RPC's dispatch until its core can begin it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) dispatch_latency: Span,
    /// From an RPC's end until the NIC knows of it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) notify_latency: Span,
    /// How long a core of mcs-lock holds the lock for each RPC; 150ns unless given, an assumption
    #[arg(long, value_name = "TIME")]
    pub(super) lock_handoff: Option<Span>,
}
