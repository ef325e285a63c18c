//! `nebula serve kv`: serves a key-value store at an endpoint until Ctrl-C.

mod keep;
mod lookups;
mod memcached;
mod serving;
mod service;
mod times;
#[cfg(feature = "typed")]
mod typed;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nebula::{Endpoint, Policy, Queueing, Region, RunningServer, ScrubMode, ServerConfig, Span, Steering, Tenant};
use nebula_kvs::{KEY_BYTES_MAX, Mode, Store, VALUE_BYTES_MAX, protocol};
use nebula_workload::KEY_BYTES;

use crate::flags::Format;
use crate::life::{GoesOn, Life, LifeArgs};
use crate::output::{self, Failure};
use crate::signal;
use crate::{flags, life, memory};
use keep::KeepArgs;
use times::ServiceTimes;

const EXAMPLES: &str = "Examples:
  nebula serve kv --inline                                      one core, 1.6 M items of 16 B/512 B at shm://kv
  nebula serve kv --endpoint shm://cache --workers 4 --policy jbsq:2 --slo 50us --pin 0,1,2,3,4
  nebula serve kv --items 10M --value-bytes 64 --memory-bytes 4GiB --mode store
  nebula serve kv --eviction unread --adopt /dev/shm/kv.store    keeps what is read, and the items when the server is restarted
  nebula serve kv --load kv.snapshot --snapshot kv.snapshot      items outlive a restart of the machine too
  nebula serve kv --inline --service-times get.csv              input for nebula simulate --service trace:get.csv
  nebula serve kv --workers 2 --policy work-stealing            idle workers steal from busy ones
  nebula serve kv --inline --unbounded                          no NACKs until 64 MiB of requests wait
  nebula serve kv --endpoint udp://127.0.0.1:7400 --inline      UDP on the loopback interface
  nebula serve kv --endpoint udp://127.0.0.1:7400 --inline --engines 2 --workers 2      UDP on two cores
  nebula serve kv --endpoint udp://0.0.0.0:7400 --inline --block --key-file kv.key      UDP for other machines, asleep when idle
  nebula serve kv --inline --metrics 127.0.0.1:9464             charts at http://127.0.0.1:9464/, and figures for Prometheus
  nebula serve kv --inline --one-sided                          clients may read the store without its workers
  nebula serve kv --config kv.toml                              settings from a file; see nebula config check
  nebula serve kv --memcached tcp://127.0.0.1:11211              for memcached's clients, one core
  nebula serve kv --memcached tcp://127.0.0.1:11211 --memcached udp://127.0.0.1:11211 --endpoint shm://kv      one store for all
  nebula serve kv --endpoint udp://0.0.0.0:7400 --key-file kv.key --tenant ann=3 --tenant '*=1'      under overload, ann gets 3/4

When the server is ready, it prints the line `ready ENDPOINT` on standard output. At the end it prints its counters.";

fn policy_help() -> String {
    let served = Policy::served().join(", ");
    format!(
        "Dispatch policy: {served}. preemptive:Q preempts at safe points within --work; altocumulus:G runs G engines"
    )
}

/// Serve a key-value store (MICA-style) until Ctrl-C or SIGTERM
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME or udp://ADDRESS:PORT [default: shm://kv, unless --memcached is given]
    #[arg(long)]
    endpoint: Option<Endpoint>,
    /// Serve memcached's clients at tcp://ADDRESS:PORT or udp://ADDRESS:PORT, beside --endpoint or alone; repeat it for several. Each has its own --workers
    /// cores, on which requests arrive and are served, and sleeps while idle unless --spin is given
    #[arg(long, value_name = "ENDPOINT")]
    memcached: Vec<Endpoint>,
    /// SLO of memcached's clients; it bounds how many of their requests wait before they are told SERVER_ERROR busy
    #[arg(long, default_value = "1ms", value_name = "TIME", requires = "memcached")]
    memcached_slo: Span,
    /// Connections of memcached's clients at once, at each endpoint
    #[arg(long, default_value_t = 16_384, requires = "memcached")]
    memcached_clients_max: u16,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: u16,
    #[arg(long, default_value = "jbsq:2", help = policy_help())]
    policy: Policy,
    /// SLO on the p99 latency; it determines the size of receive buffer and queue
    #[arg(long, default_value = "100us")]
    slo: Span,
    /// NIC engines, among which clients and workers are divided
    #[arg(long, default_value_t = 1)]
    engines: u16,
    /// Run each NIC engine and its worker on one thread; mcs-lock never has an engine thread
    #[arg(long)]
    inline: bool,
    /// Prefetch payload and item before the RPC's handler runs
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    steering: OnOff,
    /// Computation time of each RPC, in addition to the store access
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// Number of items that the store has room for
    #[arg(long, default_value = "1.6M", value_parser = flags::count)]
    items: u64,
    /// Size of the longest value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    value_bytes: u32,
    /// Bound of all memory of the server, such as 4GiB: 7/8 of it for the store, 1/16 each for receive buffers and for the rings of clients
    #[arg(long, value_name = "SIZE", value_parser = flags::bytes, conflicts_with = "memory_bytes")]
    memory: Option<u64>,
    /// Limit on the memory of the store, such as 2GiB [default: 7/8 of the free memory]
    #[arg(long, value_parser = flags::bytes)]
    memory_bytes: Option<u64>,
    /// Behavior of a full store
    #[arg(long, value_enum, default_value_t = FullStore::Cache)]
    mode: FullStore,
    /// Payload that one slot of a client's ring holds at least, in bytes [default: one value with its key]
    #[arg(long)]
    mtu_bytes: Option<u32>,
    /// When to search the receive buffer for room behind a slow RPC: on-full (before an RPC is refused), after-nack (as in the paper) or ahead
    #[arg(long, value_name = "MODE", default_value = "on-full")]
    scrub: ScrubMode,
    /// For comparison: ignore the SLO, and NACK only when the receive buffer is full
    #[arg(long)]
    unbounded: bool,
    /// Size of the receive buffer with --unbounded
    #[arg(long, default_value = "64MiB", value_parser = flags::bytes, requires = "unbounded")]
    recv_buffer_bytes: u64,
    /// The most that the receive buffer takes, however long the SLO is
    #[arg(long, default_value = "64MiB", value_parser = flags::bytes, conflicts_with = "unbounded")]
    recv_buffer_bytes_max: u64,
    /// Write a log of every decision of the NIC to this file; slow. The server ends where the log cannot be written
    #[arg(long, value_name = "FILE")]
    decision_log: Option<PathBuf>,
    /// Sample the service time of one RPC in 32, and write the latest 65,536 samples to this file at the end
    #[arg(long, value_name = "FILE.csv")]
    service_times: Option<PathBuf>,
    /// Cores to pin threads to: first the engines, then the workers
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// When idle, poll without pause: uses whole cores, but the first RPC is never late
    #[arg(long)]
    spin: bool,
    /// When idle, block until a packet arrives: uses no CPU time, but the first RPC is later; udp:// only
    #[arg(long, conflicts_with = "spin")]
    block: bool,
    /// Key file shared with the clients, for authenticated and encrypted udp:// (see nebula keygen); read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Weight of a key owner's share when there is not room for all, from 1 to 255; repeat it for each; * is all others, 1 unless given
    #[arg(long = "tenant", value_name = "NAME=WEIGHT", requires = "key_file")]
    tenants: Vec<Tenant>,
    /// Serve udp:// to other machines without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// Let clients read the store by one-sided reads, without any worker (nebula load kv --one-sided): everybody who may connect can read all items
    #[arg(long, conflicts_with = "adopt")]
    one_sided: bool,
    /// Exit when the parent process exits
    #[arg(long)]
    end_with_parent: bool,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    life: LifeArgs,
    /// Output format of the counters
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FullStore {
    /// Evict the oldest items
    Cache,
    /// Refuse new items
    Store,
}

/// Serves until a signal, or until the decision log cannot be written, then prints the server's counters.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if args.end_with_parent {
        nebula_sys::process::end_with_parent().map_err(Failure::fault)?;
    }
    match args.key_file {
        Some(_) => signal::catch_with_hang_up()?,
        None => signal::catch()?,
    }
    let life = Life::begin(&args.life)?;
    check_writable(args.decision_log.as_deref())?;
    check_writable(args.service_times.as_deref())?;
    let times = args.service_times.as_ref().map(|_| Arc::new(ServiceTimes::new()));
    // Before the store allocates a gigabyte.
    let keys = flags::read_keys(args.key_file.as_deref(), args.is_network())?;
    let (store, memory) = store(&args)?;
    let servers = serving::start(&args, keys, times.as_ref(), (&store, memory))?;
    // A run without its log is not what was asked for.
    let goes_on = |servers: &[RunningServer]| servers.iter().all(|server| server.log_error().is_none());
    let goes_on: Option<GoesOn<'_>> = if args.decision_log.is_some() { Some(&goes_on) } else { None };
    let ended = life.live(servers, goes_on, |servers| read_keys_again(servers, &args))?;
    if let (Some(times), Some(path)) = (times, &args.service_times) {
        times.write(path)?;
    }
    let kept = args.keep.end(&store);
    let printed = output::print(args.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed.and(kept))
}

impl Args {
    /// What is served to Nebula's own clients, if anything.
    fn own_endpoint(&self) -> Option<Endpoint> {
        let default = || Endpoint::Shm("kv".to_owned());
        self.endpoint.clone().or_else(|| self.memcached.is_empty().then(default))
    }

    fn store_mode(&self) -> Mode {
        match self.mode {
            FullStore::Cache => Mode::Cache,
            FullStore::Store => Mode::Store,
        }
    }

    fn is_network(&self) -> bool {
        matches!(self.endpoint, Some(Endpoint::Udp(_)))
    }
}

/// Replaces the server's keys by those that are in its key file now. One that cannot be used changes nothing: a mistake in it is not to shut
/// anybody out.
fn read_keys_again(servers: &[RunningServer], args: &Args) {
    match flags::read_keys(args.key_file.as_deref(), args.is_network()) {
        Ok(keys) => {
            // Only Nebula's own clients have keys.
            servers.iter().take(usize::from(args.own_endpoint().is_some())).for_each(|server| server.set_keys(&keys));
            tracing::info!("read the key file again: {} keys", keys.len());
        }
        Err(failure) => tracing::warn!("the keys stay as they were: {failure}"),
    }
}

/// Creates the file before the store allocates a gigabyte.
fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let created = std::fs::File::create(path).map(drop);
    created.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}

/// The store, and its memory where clients may read that.
fn store(args: &Args) -> Result<(Arc<Store>, Option<Region>), Failure> {
    let mode = args.store_mode();
    let given = args.memory.map(memory::store_share).or(args.memory_bytes).unwrap_or(u64::MAX);
    let budget = memory::budget_bytes().min(given);
    let config = memory::checked_config(args.items, args.value_bytes, mode, budget)?;
    let (store, memory) = args.keep.begin(config, memcached::unix_second(), args.one_sided)?;
    Ok((Arc::new(store), memory.map(Region::of)))
}

fn config(args: &Args) -> ServerConfig {
    let request_bytes = |key_bytes: usize| bytes(protocol::HEADER_BYTES + key_bytes + args.value_bytes as usize);
    let mtu_bytes = || request_bytes(KEY_BYTES).min(memory::MTU_BYTES_AUTO);
    let mut config = ServerConfig::default()
        .policy(args.policy)
        .slo(args.slo)
        .workers(args.workers)
        .engines(args.engines)
        .inline(args.inline)
        .steering(if args.steering == OnOff::On { Steering::On } else { Steering::Off })
        .mtu_bytes(args.mtu_bytes.unwrap_or_else(mtu_bytes))
        .rpc_bytes_max(request_bytes(KEY_BYTES_MAX + TYPED_MORE_BYTES))
        .rpc_bytes_mean(request_bytes(KEY_BYTES))
        .recv_buffer_bytes_max(args.recv_buffer_bytes_max)
        .scrub(args.scrub)
        .insecure(args.insecure)
        .tenants(args.tenants.clone())
        .pin(args.pin.clone());
    if let Some(memory) = args.memory {
        // A server of Nebula's clients, and one for each of memcached's addresses.
        let servers = u64::from(args.own_endpoint().is_some()) + args.memcached.len() as u64;
        let each = memory::buffer_share(memory) / servers.max(1);
        config.recv_buffer_bytes_max = config.recv_buffer_bytes_max.min(each);
        config.rings_bytes_max = each;
    }
    // Stated, because the receive buffer is sized before the first RPC can be measured.
    config.service_mean += args.work;
    if args.unbounded {
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: args.recv_buffer_bytes };
    }
    if args.spin {
        config.idle = nebula::IdlePolicy::Spin;
    }
    if args.block {
        config.idle = nebula::IdlePolicy::Block;
    }
    config.decision_log.clone_from(&args.decision_log);
    config
}

/// Bytes that a request by the schema has more than one of the byte protocol.
#[cfg(feature = "typed")]
const TYPED_MORE_BYTES: usize = typed::MORE_BYTES;
#[cfg(not(feature = "typed"))]
const TYPED_MORE_BYTES: usize = 0;

fn bytes(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
