//! The flags of the queueing level: cores, policies, service times.

use std::path::PathBuf;

use nebula_nic::{Policy, Span};
use nebula_sim::{Flows, Population, Profile, Speeds};
use nebula_workload::ServiceTime;

use super::words::{Balancer, HedgeOrNone, Reaction};
use crate::words::{self, Loads};

/// The flags that only the queueing level has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Queueing level: service times are given")]
pub(super) struct QueueingArgs {
    /// Dispatch policies; each gives a row
    #[arg(long, value_delimiter = ',', default_value = "jbsq:2")]
    pub(super) policy: Vec<Policy>,
    /// Thresholds of altocumulus:G by load: a table of nebula thresholds, or one that ships with
    /// Nebula [default: naive]
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(super) thresholds: Option<String>,
    /// Cores of each server
    #[arg(long, default_value_t = 64)]
    pub(super) cores: u16,
    /// Speeds of the cores of a server, in order: 1,1,0.5 or 4x1,12x0.5; of several idle cores most
    /// policies take the first
    #[arg(long, value_name = "[NUMBERx]SPEED,...")]
    pub(super) speeds: Option<Speeds>,
    /// Service time of an RPC
    #[arg(long, default_value = "exp:1us", value_parser = words::service)]
    pub(super) service: ServiceTime,
    /// Offered loads, as shares of core time: 0.5,0.9 or 0.5..0.99:20 [default: 0.5,0.9]
    #[arg(long, conflicts_with = "clients")]
    pub(super) load: Option<Loads>,
    /// Load that changes and repeats: steps 0.5/2ms,1.5/100us of a load and its time each, or
    /// wave:0.2..0.9/10ms; gives the recovery time
    #[arg(long, value_name = "LOAD/TIME,...|wave:LOW..HIGH/TIME", conflicts_with_all = ["load", "clients", "find_slo"])]
    pub(super) load_over_time: Option<Profile>,
    /// Closed loop with this many clients, such as connections
    #[arg(long, value_name = "N")]
    pub(super) clients: Option<u32>,
    /// RPCs that each client has outstanding [default: 1]
    #[arg(long, value_name = "RPCS", requires = "clients")]
    pub(super) outstanding: Option<u32>,
    /// Think time between a reply and the client's next RPC [default: 0ns]
    #[arg(long, value_name = "SERVICE", value_parser = words::service, requires = "clients")]
    pub(super) think: Option<ServiceTime>,
    /// Flows that RPCs belong to, for rss and static: N equal ones, zipf:THETA[,N], or clients (of
    /// a closed loop) [default: each RPC its own]
    #[arg(long, value_name = "N|zipf:THETA[,N]|clients")]
    pub(super) flows: Option<Flows>,
    /// Keys that RPCs are about, for key-hash: N equal ones, or zipf:THETA[,N] [default: each RPC
    /// its own]
    #[arg(long, value_name = "N|zipf:THETA[,N]")]
    pub(super) keys: Option<Population>,
    /// Limit on the queue of each server; further RPCs are NACKed. With 0 nothing waits at the NIC
    /// [default: none]
    #[arg(long, value_name = "N")]
    pub(super) queue_bound: Option<u32>,
    /// Where room is short, NACK the flows first that have had most of it, as `serve` does
    #[arg(long, requires_all = ["flows", "queue_bound"])]
    pub(super) fair_shares: bool,
    /// Reaction to a NACK: drop, retry:FIRST[,TRIES] with exponential backoff from FIRST, or
    /// another (server)
    #[arg(long, default_value = "drop")]
    pub(super) on_nack: Reaction,
    /// Servers that share the load; each RPC goes to a random one
    #[arg(long, default_value_t = 1)]
    pub(super) servers: u16,
    /// Balancer that chooses the servers: jbsq:N (most RPCs at a server), random, round-robin or
    /// two-choices
    #[arg(long)]
    pub(super) balancer: Option<Balancer>,
    /// Delay between the balancer and a server, in each direction: its counts are that old
    #[arg(long, value_name = "TIME", requires = "balancer", default_value = "0ns")]
    pub(super) distance: Span,
    /// Second copies to another server: after a quantile (p95, or p95/3% for at most 3 % of the
    /// calls), or a time (20us, 0ns); tied: before it lets the copy that begins cancel the other.
    /// Each gives a row; none is one
    #[arg(long, value_delimiter = ',', value_name = "none|pN[/SHARE]|TIME|tied:...")]
    pub(super) hedge: Vec<HedgeOrNone>,
    /// Let both copies take the same service time, as the request's; without, each server draws
    /// another
    #[arg(long, requires = "hedge")]
    pub(super) same_service: bool,
    /// Servers that each call asks at once, each for a part; it ends with the last of them
    #[arg(long, value_name = "N")]
    pub(super) fan_out: Option<u16>,
    /// Time after which a client gives up and cancels what it has asked for
    #[arg(long, value_name = "TIME")]
    pub(super) deadline: Option<Span>,
    /// Tiers of servers, each calling the next: a name that ships with Nebula, or a file
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        conflicts_with_all = [
            "policy", "thresholds", "cores", "speeds", "service", "clients", "flows", "keys", "queue_bound", "fair_shares", "on_nack", "servers",
            "balancer", "distance", "hedge", "same_service", "fan_out", "deadline", "dispatch_latency", "notify_latency",
            "decision_time", "hop_latency", "per_core_time", "lock_handoff", "nic_cycles"
        ]
    )]
    pub(super) tiers: Option<String>,
    /// Tenants that share cores by their weights, each with its load, SLO and queue bound; gives a
    /// row for each: a name that ships with Nebula, or a file
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        conflicts_with_all = [
            "policy", "thresholds", "cores", "speeds", "service", "load", "load_over_time", "clients", "flows", "keys", "queue_bound",
            "fair_shares", "on_nack", "servers", "balancer", "distance", "hedge", "same_service", "fan_out", "deadline", "tiers",
            "dispatch_latency", "notify_latency", "decision_time", "hop_latency", "per_core_time", "lock_handoff", "nic_cycles", "arrivals",
            "find_slo", "slo", "precision"
        ]
    )]
    pub(super) tenants: Option<String>,
    /// Delay from the dispatch of an RPC until its core can begin it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) dispatch_latency: Span,
    /// Delay from the end of an RPC until the NIC knows of it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) notify_latency: Span,
    /// Time for which the one dispatcher of a server, or of a group, is busy with each RPC; zero
    /// for a NIC
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) decision_time: Span,
    /// Latency of a hop of the mesh: dispatch, notice, lock and steal then take the mean way of
    /// that many cores
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) hop_latency: Span,
    /// Time that a dispatcher with a --decision-time, or a thief, spends on the cache line of each
    /// core for every RPC
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) per_core_time: Span,
    /// Time for which mcs-lock holds its lock for each RPC [default: 150ns, assumed]
    #[arg(long, value_name = "TIME")]
    pub(super) lock_handoff: Option<Span>,
    /// Charge what a NIC in hardware takes to decide and to dispatch: cycles that cargo hw rtl
    /// --cycles has counted, such as hardware/cycles.toml
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["decision_time", "dispatch_latency", "notify_latency"])]
    pub(super) nic_cycles: Option<PathBuf>,
    /// Clock of that NIC, in GHz
    #[arg(long, value_name = "GHZ", default_value = "2", value_parser = super::words::ghz, requires = "nic_cycles")]
    pub(super) nic_ghz: f64,
    /// Inputs that its cycles were counted with, by their name in the file
    #[arg(long, value_name = "MIX", default_value = "mixed", requires = "nic_cycles")]
    pub(super) nic_mix: String,
}
