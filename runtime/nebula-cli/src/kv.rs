//! `nebula serve kv`: serves a key-value store at an endpoint until Ctrl-C.

mod keep;
mod lookups;
mod memcached;
mod partitioned;
mod quota;
mod replicated;
mod serving;
mod service;
mod times;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nebula::{Endpoint, Keys, Queueing, Region, RunningServer, ScrubMode, ServerConfig, Span, Steering, Tenant};
use nebula_kvs::{KEY_BYTES_MAX, Mode, StoreConfig, StoreOptions, VALUE_BYTES_MAX, protocol};
use nebula_ui::output::units;
use nebula_workload::KEY_BYTES;

use crate::{flags, memory};
use keep::KeepArgs;
use nebula_ops::life;
use nebula_ops::life::GoesOn;
use nebula_ops::server_args::ServerArgs;
use nebula_ui::output::{self, Failure};
use partitioned::Partitions;
use quota::{Part, Quota};
use replicated::ReplicaArgs;
use times::ServiceTimes;

const EXAMPLES: &str = "Examples:
  nebula serve kv --inline                                      one core, 1.6 M items of 16 B/512 B at shm://kv
  nebula serve kv --endpoint shm://cache --workers 4 --policy jbsq:2 --slo 50us --pin 0,1,2,3,4
  nebula serve kv --items 10M --value-bytes 64 --memory-bytes 4GiB --mode store
  nebula serve kv --eviction unread --adopt /dev/shm/kv.store    keeps what is read, and the items when the server is restarted
  nebula serve kv --load kv.snapshot --snapshot kv.snapshot      items outlive a restart of the machine too
  nebula serve kv --inline --service-times get.csv              input for nebula simulate --service trace:get.csv
  nebula serve kv --workers 2 --policy work-stealing            idle workers steal from busy ones
  nebula serve kv --workers 4 --policy key-hash --partitions erew  each worker alone reads and writes its part of the keys
  nebula serve kv --inline --unbounded                          no NACKs until 64 MiB of requests wait
  nebula serve kv --endpoint udp://127.0.0.1:7400 --inline      UDP on the loopback interface
  nebula serve kv --endpoint udp://127.0.0.1:7400 --inline --engines 2 --workers 2      UDP on two cores
  nebula serve kv --endpoint udp://0.0.0.0:7400 --inline --block --key-file kv.key      UDP for other machines, asleep when idle
  nebula serve kv --endpoint tcp://0.0.0.0:7400 --inline --block --key-file kv.key      the same over TCP, where networks pass no UDP
  nebula serve kv --inline --metrics 127.0.0.1:9464             charts at http://127.0.0.1:9464/, and figures for Prometheus
  nebula serve kv --inline --one-sided                          clients may read the store without its workers
  nebula serve kv --config kv.toml                              settings from a file; see nebula config check
  nebula serve kv --memcached tcp://127.0.0.1:11211              for memcached's clients, one core
  nebula serve kv --memcached tcp://127.0.0.1:11211 --memcached udp://127.0.0.1:11211 --endpoint shm://kv      one store for all
  nebula serve kv --inline --memory 4GiB --quota shm://ann=1GiB --quota tcp://127.0.0.1:11212=512MiB      tenants with their own memory
  nebula serve kv --endpoint udp://10.0.0.1:7400 --key-file kv.key --replicate udp://10.0.0.1:7400,udp://10.0.0.2:7400,udp://10.0.0.3:7400 --replica-dir /var/lib/nebula --mode store --slo 20ms      one of three replicas
  nebula serve kv --endpoint udp://0.0.0.0:7400 --key-file kv.key --tenant ann=3 --tenant '*=1'      under overload, ann gets 3/4

When the server is ready, it prints the line `ready ENDPOINT` on standard output. At the end it prints its counters.";

/// Flags that do not apply to a store of partitions.
const PARTITIONED_WITHOUT: [&str; 8] =
    ["memcached", "quotas", "eviction", "adopt", "load", "snapshot", "service_times", "work"];

/// Serve a key-value store (MICA-style) until Ctrl-C or SIGTERM
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("inline", |arg| arg.help("Run each NIC engine and its worker on one thread, as is the default for one worker; mcs-lock never has an engine thread"))
)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or
    /// xdp://INTERFACE:PORT [default: shm://kv, unless --memcached is given]
    #[arg(long)]
    endpoint: Option<Endpoint>,
    /// Serve memcached's clients at tcp://ADDRESS:PORT, udp://ADDRESS:PORT or unix:PATH, beside
    /// --endpoint or alone; repeat it for several. Each has its own --workers cores, on which
    /// requests arrive and are served, and sleeps while idle unless --spin is given
    #[arg(long, value_name = "ENDPOINT")]
    memcached: Vec<Endpoint>,
    /// SLO of memcached's clients; it bounds how many of their requests wait before they are told
    /// SERVER_ERROR busy
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    memcached_slo: Span,
    /// Connections of memcached's clients at once, at each endpoint
    #[arg(long, default_value_t = 16_384)]
    memcached_clients_max: u16,
    #[command(flatten)]
    server: ServerArgs,
    /// NIC engines, among which clients and workers are divided
    #[arg(long, default_value_t = 1)]
    engines: u16,
    /// Prefetch payload and item before the RPC's handler runs
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    steering: OnOff,
    /// Computation time of each RPC, in addition to the store access
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// Number of items that the store has room for [default: as many as --memory has room for, or
    /// 1.6M]
    #[arg(long, value_parser = flags::count)]
    items: Option<u64>,
    /// Size of the longest value, in bytes; a longer one is refused [default: 512, and 1048575 for
    /// memcached's clients]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    value_bytes: Option<u32>,
    /// Bound of all memory of the server, such as 4GiB: 1/40 of it for receive buffers, 1/16 for
    /// the rings of clients if any are at shm://, the rest for the store
    #[arg(long, value_name = "SIZE", value_parser = flags::bytes, conflicts_with = "memory_bytes")]
    memory: Option<u64>,
    /// Memory of the store that is one tenant's alone, at its own endpoint: shm://NAME or
    /// udp://ADDRESS:PORT, or tcp://ADDRESS:PORT for memcached's clients. Its items are in no other
    /// endpoint's way: it evicts its own, or is refused, as --mode says. Within --memory; repeat it
    /// for each tenant. --adopt, --load and --snapshot keep nothing of it
    #[arg(long = "quota", value_name = "ENDPOINT=SIZE")]
    quotas: Vec<Quota>,
    /// Limit on the memory of the store, such as 2GiB [default: 7/8 of the free memory]
    #[arg(long, value_parser = flags::bytes)]
    memory_bytes: Option<u64>,
    /// Behavior of a full store
    #[arg(long, value_enum, default_value_t = FullStore::Cache)]
    mode: FullStore,
    /// Divide the store into one partition a worker, which alone writes it and so excludes no other
    /// writer; needs --policy key-hash
    #[arg(long, value_enum, value_name = "ACCESS", conflicts_with_all = PARTITIONED_WITHOUT)]
    partitions: Option<Partitions>,
    /// Payload that one slot of a client's ring holds at least, in bytes [default: one value with
    /// its key]
    #[arg(long)]
    mtu_bytes: Option<u32>,
    /// When to search the receive buffer for room behind a slow RPC: on-full (before an RPC is
    /// refused), after-nack (as in the paper), ahead, or off (for comparison)
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
    /// Write a log of every decision of the NIC to this file; slow. The server ends where the log
    /// cannot be written
    #[arg(long, value_name = "FILE")]
    decision_log: Option<PathBuf>,
    /// Sample the service time of one RPC in 32, and write the latest 65,536 samples to this file
    /// at the end
    #[arg(long, value_name = "FILE.csv")]
    service_times: Option<PathBuf>,
    /// When idle, poll without pause: uses whole cores, but the first RPC is never late
    #[arg(long)]
    spin: bool,
    /// When idle, every thread sleeps until an RPC arrives: uses no CPU time, but the first RPC is
    /// later
    #[arg(long, conflicts_with = "spin")]
    block: bool,
    /// Weight of a key owner's share when there is not room for all, from 1 to 255; repeat it for
    /// each; * is all others, 1 unless given
    #[arg(long = "tenant", value_name = "NAME=WEIGHT", requires = "key_file")]
    tenants: Vec<Tenant>,
    /// Let clients read the store by one-sided reads, without any worker (nebula load kv
    /// --one-sided): everybody who may connect can read all items
    #[arg(long, conflicts_with_all = ["adopt", "partitions"])]
    one_sided: bool,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    replica: ReplicaArgs,
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

/// Serves until a signal, or until the decision log cannot be written, then prints the server's
/// counters.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let own = args.own_endpoint();
    let quotas = args.quotas.iter().map(|quota| &quota.endpoint);
    let life = args.server.begin(&own.iter().chain(&args.memcached).chain(quotas).collect::<Vec<_>>())?;
    check_writable(args.decision_log.as_deref())?;
    check_writable(args.service_times.as_deref())?;
    let times = args.service_times.as_ref().map(|_| Arc::new(ServiceTimes::new()));
    let Checked { keys, store_config } = check(&args)?;
    let again = |servers: &[RunningServer]| args.server.read_keys_again(servers, args.network_endpoint());
    #[cfg(feature = "replicate")]
    if args.replica.is_asked_for() {
        let room = nebula_replication::machine::Room {
            items_max: args.items.unwrap_or(ITEMS),
            value_bytes_max: args.value_bytes(),
        };
        let (endpoint, mode, format) = (args.endpoint.as_ref(), args.store_mode(), args.server.format);
        let parts = replicated::Parts { endpoint, mode, room, config: config(&args)?, keys, format };
        return replicated::run(&args.replica, life, parts, again);
    }
    let (servers, store) = match args.partitions {
        Some(access) => (vec![serving::start_partitioned(&args, store_config, access, &keys)?], None),
        None => {
            let common = common(&args, store_config)?;
            let part =
                |quota: &Quota| quota.part(args.value_bytes(), args.store_mode(), args.options(quota.has_memcached()));
            let parts = args.quotas.iter().map(part).collect::<Result<Vec<_>, _>>()?;
            (serving::start(&args, &keys, times.as_ref(), &common, &parts)?, Some(common.store))
        }
    };
    // If the decision log cannot be written, the server ends.
    let goes_on = |servers: &[RunningServer]| servers.iter().all(|server| server.log_error().is_none());
    let goes_on: Option<GoesOn<'_>> = if args.decision_log.is_some() { Some(&goes_on) } else { None };
    let ended = life.live(servers, goes_on, again)?;
    if let (Some(times), Some(path)) = (times, &args.service_times) {
        times.write(path)?;
    }
    let kept = store.map_or(Ok(()), |store| args.keep.end(&store));
    let printed = output::print(args.server.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed.and(kept))
}

impl Args {
    fn value_bytes(&self) -> u32 {
        self.value_bytes.unwrap_or(512)
    }

    /// Of a store for memcached's clients or for others only; those may store longer values unless
    /// the flag says otherwise.
    fn options(&self, has_memcached: bool) -> StoreOptions {
        let unsaid = if has_memcached { VALUE_BYTES_MAX } else { self.value_bytes() as usize };
        let value_bytes_max = self.value_bytes.map_or(unsaid, |bytes| bytes as usize);
        StoreOptions { eviction: self.keep.eviction(), value_bytes_max, ..StoreOptions::default() }
    }

    /// The parts of `--memory`.
    fn shares(&self) -> Option<memory::Shares> {
        let is_shm = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Shm(_));
        let has_rings = self.own_endpoint().iter().chain(self.quotas.iter().map(|quota| &quota.endpoint)).any(is_shm);
        Some(memory::Shares::of(self.memory?, has_rings))
    }

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

    fn network_endpoint(&self) -> Option<&Endpoint> {
        let is_own = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Udp(_) | Endpoint::Tcp(_) | Endpoint::Xdp(_));
        // A tenant's tcp:// endpoint is memcached's, which has no keys.
        let tenants = self.quotas.iter().map(|quota| &quota.endpoint);
        let is_tenants = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Udp(_) | Endpoint::Xdp(_));
        self.endpoint.iter().filter(is_own).chain(tenants.filter(is_tenants)).next()
    }
}

/// What a server needs that it could have been refused.
pub(crate) struct Checked {
    keys: Keys,
    /// Of the common store; a replica's has its own sizes.
    store_config: StoreConfig,
}

/// Checks what [`run`] would refuse, before the store allocates a gigabyte.
pub(crate) fn check(args: &Args) -> Result<Checked, Failure> {
    #[cfg(not(feature = "replicate"))]
    if args.replica.is_asked_for() {
        return Err(replicated::not_built());
    }
    #[cfg(feature = "replicate")]
    if args.replica.is_asked_for() {
        replicated::checked(args.endpoint.as_ref(), args.store_mode())?;
    }
    let keys = args.server.read_keys(args.network_endpoint())?;
    if args.one_sided && args.own_endpoint().is_none() {
        return Err(Failure::bad_input("--one-sided needs --endpoint: memcached's protocols have no one-sided reads"));
    }
    let store_config = if args.replica.is_asked_for() { StoreConfig::for_items(0, 0, 0) } else { store_config(args)? };
    args.quotas.iter().try_for_each(|quota| quota.config(args.value_bytes(), args.store_mode()).map(drop))?;
    args.keep.check()?;
    serving::check(args, &keys)?;
    Ok(Checked { keys, store_config })
}

/// Creates the file before the store allocates a gigabyte.
fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let created = std::fs::File::create(path).map(drop);
    created.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}

/// The default number of items is that of NEBULA's evaluation.
const ITEMS: u64 = 1_600_000;

/// The sizes of the common store of all clients without a quota, or of all its partitions together.
fn store_config(args: &Args) -> Result<StoreConfig, Failure> {
    let mode = args.store_mode();
    if args.memory.is_some_and(|memory| memory < memory::MEMORY_BYTES_MIN) {
        let least = units::bytes(memory::MEMORY_BYTES_MIN);
        return Err(Failure::bad_input(format!("--memory: a server with its clients needs at least {least}")));
    }
    let given = args.shares().map(|shares| shares.store).or(args.memory_bytes).unwrap_or(u64::MAX);
    let budget = quota::left_of(memory::budget_bytes().min(given), &args.quotas)?;
    match (args.items, args.memory) {
        (None, Some(_)) => memory::config_within(budget, args.value_bytes(), mode),
        (None, None) if ITEMS > memory::items_that_fit(args.value_bytes(), mode, budget) => {
            smaller_config(budget, args.value_bytes(), mode)
        }
        (items, _) => memory::checked_config(items.unwrap_or(ITEMS), args.value_bytes(), mode, budget),
    }
}

/// The sizes of the default store where that does not fit. It leaves room for rings and buffers.
fn smaller_config(budget: u64, value_bytes: u32, mode: Mode) -> Result<StoreConfig, Failure> {
    let share = budget / 4 * 3;
    let config = memory::config_within(share, value_bytes, mode)?;
    let items = memory::items_that_fit(value_bytes, mode, share);
    tracing::info!(
        "the store takes {}: {items} items of {value_bytes} B, as this process may not have more memory (--items, --memory)",
        units::bytes(memory::store_bytes(&config)),
    );
    Ok(config)
}

fn common(args: &Args, config: StoreConfig) -> Result<Part, Failure> {
    let (store, memory) =
        args.keep.begin(config, args.options(!args.memcached.is_empty()), memcached::unix_second(), args.one_sided)?;
    Ok(Part { readable: memory.map(Region::of), ..Part::of(store, &config) })
}

fn config(args: &Args) -> Result<ServerConfig, Failure> {
    let request_bytes = |key_bytes: usize| bytes(protocol::HEADER_BYTES + key_bytes + args.value_bytes() as usize);
    let mtu_bytes = || request_bytes(KEY_BYTES).min(memory::MTU_BYTES_AUTO);
    let mut config = args
        .server
        .config()
        .engines(args.engines)
        .steering(if args.steering == OnOff::On { Steering::On } else { Steering::Off })
        .mtu_bytes(args.mtu_bytes.unwrap_or_else(mtu_bytes))
        .rpc_bytes_max(request_bytes(KEY_BYTES_MAX + SCHEMA_BYTES))
        .rpc_bytes_mean(request_bytes(KEY_BYTES))
        .recv_buffer_bytes_max(args.recv_buffer_bytes_max)
        .scrub(args.scrub)
        .tenants(args.tenants.clone());
    if let Some(shares) = args.shares() {
        // One server for Nebula's clients, one for each of memcached's addresses, and one for each
        // tenant with a quota.
        let others = args.memcached.len() + args.quotas.len();
        let servers = u64::from(args.own_endpoint().is_some()) + others as u64;
        config.recv_buffer_bytes_max = config.recv_buffer_bytes_max.min(shares.receive_buffers / servers.max(1));
        config.rings_bytes_max = shares.rings / servers.max(1);
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
    match args.own_endpoint() {
        Some(endpoint) if args.memcached.is_empty() && args.quotas.is_empty() => {
            args.server.complete(config, &endpoint)
        }
        _ if args.server.workers().is_none() => {
            Err(Failure::bad_input("--workers auto divides the cores of one endpoint: give a number"))
        }
        _ => args.server.trained(config),
    }
}

/// The most bytes by which a typed request exceeds one of the byte protocol: lengths of key and
/// value, and the method.
const SCHEMA_BYTES: usize = if cfg!(feature = "typed") { 16 } else { 0 };

fn bytes(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
