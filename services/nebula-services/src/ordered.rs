//! `nebula serve ordered`: serves an ordered key-value store, with scans, until Ctrl-C.

use nebula::{Endpoint, IdlePolicy, Policy, RunningServer, ServerConfig};
use nebula_kvs::{KEY_BYTES_MAX, VALUE_BYTES_MAX, protocol};
use nebula_ops::life;
use nebula_ops::memory;
use nebula_ops::or_fail::OrFail;
use nebula_ops::server_args::ServerArgs;
use nebula_ordered::{OrderedService, OrderedStore};
use nebula_workload::KEY_BYTES;

use nebula_ui::output::{self, Failure};
use nebula_ui::words;

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
#[command(
    after_help = EXAMPLES,
    mut_arg("policy", |arg| arg.help(policy_help())),
    mut_arg("slo", |arg| arg.default_value("1ms")),
    mut_arg("pin", |arg| arg.help("Cores to pin threads to: first the engine, then the workers"))
)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or
    /// xdp://INTERFACE:PORT
    #[arg(long, default_value = "shm://ordered")]
    endpoint: Endpoint,
    #[command(flatten)]
    server: ServerArgs,
    /// Size of the longest value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    value_bytes: u32,
    /// Limit on the memory of the items, such as 2GiB [default: 7/8 of the free memory]
    #[arg(long, value_parser = words::bytes)]
    memory_bytes: Option<u64>,
    /// When idle, every thread sleeps until an RPC arrives
    #[arg(long)]
    block: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let life = args.server.begin(&[&args.endpoint])?;
    let server = args.server.bind(&args.endpoint, config(args)?)?;
    let store = OrderedStore::new(memory::budget_bytes().min(args.memory_bytes.unwrap_or(u64::MAX)));
    let server = server.serve(OrderedService::new(store)).or_fail()?;
    let again = |servers: &[RunningServer]| args.server.read_keys_again(servers, Some(&args.endpoint));
    let ended = life.live(vec![server], None, again)?;
    let printed = output::print(args.server.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed)
}

/// Whether [`run`] would refuse these arguments.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    args.server.bind(&args.endpoint, config(args)?)?.check().or_fail()
}

fn config(args: &Args) -> Result<ServerConfig, Failure> {
    let request_bytes = |key_bytes: usize| {
        u32::try_from(protocol::HEADER_BYTES + key_bytes).unwrap_or(u32::MAX).saturating_add(args.value_bytes)
    };
    let mut config = args
        .server
        .config()
        .mtu_bytes(request_bytes(KEY_BYTES).min(memory::MTU_BYTES_AUTO))
        .rpc_bytes_max(request_bytes(KEY_BYTES_MAX))
        .rpc_bytes_mean(request_bytes(KEY_BYTES));
    if args.block {
        config.idle = IdlePolicy::Block;
    }
    args.server.complete(config, &args.endpoint)
}
