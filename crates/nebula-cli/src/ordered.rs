//! `nebula serve ordered`: serves an ordered key-value store, with scans, until Ctrl-C.

mod service;

use std::path::PathBuf;

use nebula::{Endpoint, IdlePolicy, Policy, Server, ServerConfig, Span};
use nebula_kvs::{KEY_BYTES_MAX, VALUE_BYTES_MAX, protocol};
use nebula_ordered::OrderedStore;
use nebula_workload::KEY_BYTES;

use crate::flags::Format;
use crate::life::{Life, LifeArgs};
use crate::output::{self, Failure};
use crate::{flags, life, memory, signal};
use service::OrderedService;

const EXAMPLES: &str = "Examples:
  nebula serve ordered --inline                                 one core, at shm://ordered
  nebula serve ordered --workers 4 --policy darc                short GETs have cores that no SCAN takes
  nebula serve ordered --inline --endpoint udp://127.0.0.1:7400 --memory-bytes 4GiB
  nebula load kv --endpoint shm://ordered --preset masstree --preload --rate 200k      99 % GET, 1 % SCAN of 100 pairs

It understands the requests of nebula serve kv, and SCAN: the pairs from a key on, in ascending order. A reply has as many pairs as were asked for, or as its
client has room for. When the server is ready, it prints the line `ready ENDPOINT` on standard output. At the end it prints its counters.";

fn policy_help() -> String {
    format!("Dispatch policy: {}", Policy::served().join(", "))
}

/// Serve an ordered key-value store, with scans, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME or udp://ADDRESS:PORT
    #[arg(long, default_value = "shm://ordered")]
    endpoint: Endpoint,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: u16,
    #[arg(long, default_value = "jbsq:2", help = policy_help())]
    policy: Policy,
    /// SLO on the p99 latency; it determines the size of receive buffer and queue
    #[arg(long, default_value = "1ms")]
    slo: Span,
    /// Run each NIC engine and its worker on one thread
    #[arg(long)]
    inline: bool,
    /// Size of the longest value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    value_bytes: u32,
    /// Limit on the memory of the items, such as 2GiB [default: 7/8 of the free memory]
    #[arg(long, value_parser = flags::bytes)]
    memory_bytes: Option<u64>,
    /// Cores to pin threads to: first the engine, then the workers
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// When idle, block until a packet arrives; udp:// only
    #[arg(long)]
    block: bool,
    /// Key file shared with the clients, for authenticated and encrypted udp:// (see nebula keygen)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Serve udp:// to other machines without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// Exit when the parent process exits
    #[arg(long)]
    end_with_parent: bool,
    #[command(flatten)]
    life: LifeArgs,
    /// Output format of the counters
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Serves until a signal, then prints the server's counters.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.end_with_parent {
        nebula_sys::process::end_with_parent().map_err(Failure::fault)?;
    }
    signal::catch()?;
    let life = Life::begin(&args.life)?;
    let mut config = config(args);
    config.keys = flags::read_keys(args.key_file.as_deref(), matches!(args.endpoint, Endpoint::Udp(_)))?;
    let store = OrderedStore::new(memory::budget_bytes().min(args.memory_bytes.unwrap_or(u64::MAX)));
    let server = Server::bind(&args.endpoint).config(config).serve(OrderedService::new(store))?;
    let ended = life.live(vec![server], None, |_| {})?;
    let printed = output::print(args.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed)
}

fn config(args: &Args) -> ServerConfig {
    let request_bytes = |key_bytes: usize| {
        u32::try_from(protocol::HEADER_BYTES + key_bytes).unwrap_or(u32::MAX).saturating_add(args.value_bytes)
    };
    let mut config = ServerConfig::default()
        .policy(args.policy)
        .slo(args.slo)
        .workers(args.workers)
        .inline(args.inline)
        .mtu_bytes(request_bytes(KEY_BYTES).min(memory::MTU_BYTES_AUTO))
        .rpc_bytes_max(request_bytes(KEY_BYTES_MAX))
        .rpc_bytes_mean(request_bytes(KEY_BYTES))
        .insecure(args.insecure)
        .pin(args.pin.clone());
    if args.block {
        config.idle = IdlePolicy::Block;
    }
    config
}
