//! `nebula serve kv`: a key-value store behind an endpoint, until Ctrl-C.

mod service;
mod times;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nebula::{Endpoint, Policy, Queueing, Server, ServerConfig, Span, Status, Steering};
use nebula_kvs::{KEY_BYTES_MAX, Mode, Store, VALUE_BYTES_MAX, protocol};
use nebula_workload::KEY_BYTES;

use crate::flags::Format;
use crate::output::{self, Failure, Row, units};
use crate::{flags, memory, signal};
use service::KvService;
use times::ServiceTimes;

const EXAMPLES: &str = "Examples:
  nebula serve kv --inline                                      one core, 1.6 M items of 16 B/512 B at shm://kv
  nebula serve kv --endpoint shm://cache --workers 4 --policy jbsq:2 --slo 50us --pin 0,1,2,3,4
  nebula serve kv --items 10M --value-bytes 64 --memory-bytes 4GiB --mode store
  nebula serve kv --inline --service-times get.csv              for nebula simulate --service trace:get.csv
  nebula serve kv --workers 2 --policy work-stealing            idle workers take from the queues of busy ones
  nebula serve kv --inline --unbounded                          nothing is NACKed before 64 MiB of requests wait
  nebula serve kv --endpoint udp://127.0.0.1:7400 --inline      over the network of this machine
  nebula serve kv --endpoint udp://0.0.0.0:7400 --inline --block --key-file kv.key      for other machines, idle for nothing

When it serves it prints a line `ready ENDPOINT` on standard output; when it has ended, its counters.";

fn policy_help() -> String {
    let served = Policy::served().join(", ");
    format!(
        "How RPCs are given to workers: {served}. preemptive:Q has safe points in --work, altocumulus:G has G engines"
    )
}

/// Serve a MICA-style key-value store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to serve
    #[arg(long, default_value = "shm://kv")]
    endpoint: Endpoint,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: u16,
    #[arg(long, default_value = "jbsq:2", help = policy_help())]
    policy: Policy,
    /// Bound that 99 % of RPCs are to keep; sizes receive buffer and queue
    #[arg(long, default_value = "100us")]
    slo: Span,
    /// Run NIC engine and worker on one thread; under mcs-lock the workers are the engine anyway
    #[arg(long)]
    inline: bool,
    /// Fetch payloads and items ahead of their RPC's turn
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    steering: OnOff,
    /// Time that each RPC takes on top of the store's, as a heavier handler would
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// Items that the store is sized for
    #[arg(long, default_value = "1.6M", value_parser = flags::count)]
    items: u64,
    /// Bytes of the longest value
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    value_bytes: u32,
    /// Most memory that the store may take, such as 2GiB; unless given, 7/8 of what is free
    #[arg(long, value_parser = flags::bytes)]
    memory_bytes: Option<u64>,
    /// What a full store does
    #[arg(long, value_enum, default_value_t = FullStore::Cache)]
    mode: FullStore,
    /// Payload of one slot of a client's ring, a multiple of 64; unless given, a value with its key fits one slot
    #[arg(long)]
    mtu_bytes: Option<u32>,
    /// Size the receive buffer without regard to the SLO and NACK nothing before it is full, for comparison
    #[arg(long)]
    unbounded: bool,
    /// Bytes of the receive buffer of --unbounded
    #[arg(long, default_value = "64MiB", value_parser = flags::bytes, requires = "unbounded")]
    recv_buffer_bytes: u64,
    /// Write every decision of the NIC to this file; costs far more than the decisions
    #[arg(long, value_name = "FILE")]
    decision_log: Option<PathBuf>,
    /// Time one RPC in 32, and write the latest 65,536 times to this file at the end, for simulate --service trace:FILE
    #[arg(long, value_name = "FILE.csv")]
    service_times: Option<PathBuf>,
    /// Cores to pin to: the engine's (of several all), then the workers'
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// Poll without end when idle, instead of resting: a whole core, and no late first RPC
    #[arg(long)]
    spin: bool,
    /// Sleep when idle until something comes: no processor time at all, and a later first RPC; over udp://
    #[arg(long, conflicts_with = "spin")]
    block: bool,
    /// Over udp://: the key that clients have too (nebula keygen); everything is authenticated and encrypted
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Over udp://: serve on addresses beyond this machine without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// End when the process that started this one ends, however it ends
    #[arg(long)]
    end_with_parent: bool,
    /// Form of the counters
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
    /// Forgets its oldest items
    Cache,
    /// Refuses
    Store,
}

/// Serves until a signal comes, then prints the server's counters.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if args.end_with_parent {
        nebula_sys::process::end_with_parent().map_err(Failure::fault)?;
    }
    signal::catch()?;
    check_writable(args.decision_log.as_deref())?;
    check_writable(args.service_times.as_deref())?;
    let times = args.service_times.as_ref().map(|_| Arc::new(ServiceTimes::new()));
    let service = service(&args)?.timed(times.clone());
    let mut config = config(&args);
    config.key = args.key_file.as_deref().map(flags::read_key).transpose()?;
    let server = Server::bind(&args.endpoint).config(config).serve(service)?;
    announce(server.endpoint());
    signal::wait();
    let status = server.stop();
    if let (Some(times), Some(path)) = (times, &args.service_times) {
        times.write(path)?;
    }
    output::print(args.format, &[counters(&status)])
}

/// Asks for a file before a gigabyte of store is made.
fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let created = std::fs::File::create(path).map(drop);
    created.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}

fn service(args: &Args) -> Result<KvService, Failure> {
    let mode = match args.mode {
        FullStore::Cache => Mode::Cache,
        FullStore::Store => Mode::Store,
    };
    let budget = memory::budget_bytes().min(args.memory_bytes.unwrap_or(u64::MAX));
    let store = Store::try_new(memory::checked_config(args.items, args.value_bytes, mode, budget)?)?;
    Ok(KvService::new(store, KEY_BYTES + args.value_bytes as usize).working(args.work))
}

fn config(args: &Args) -> ServerConfig {
    let request_bytes = |key_bytes: usize| bytes(protocol::HEADER_BYTES + key_bytes + args.value_bytes as usize);
    let mtu_bytes = || request_bytes(KEY_BYTES).next_multiple_of(64).min(MTU_BYTES_AUTO);
    let mut config = ServerConfig::default()
        .policy(args.policy)
        .slo(args.slo)
        .workers(args.workers)
        .inline(args.inline)
        .steering(if args.steering == OnOff::On { Steering::On } else { Steering::Off })
        .mtu_bytes(args.mtu_bytes.unwrap_or_else(mtu_bytes))
        .rpc_bytes_max(request_bytes(KEY_BYTES_MAX))
        .rpc_bytes_mean(request_bytes(KEY_BYTES))
        .insecure(args.insecure)
        .pin(args.pin.clone());
    // Told and not only measured, as the receive buffer is made before the first RPC.
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

/// The largest slot that is chosen without being asked for: one page. Longer values take several.
const MTU_BYTES_AUTO: u32 = 4096;

fn bytes(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Tells people on standard error and scripts on standard output. A script that does not listen does not end the server.
fn announce(endpoint: &Endpoint) {
    output::note(format!("serving {endpoint}; stop with Ctrl-C"));
    let _ = output::print_line(&format!("ready {endpoint}"));
}

fn counters(status: &Status) -> Row {
    Row::new()
        .field("served", status.freed)
        .field("nacked", status.nacked())
        .field("nacked_queue_bound", status.nacked_queue_bound)
        .field("nacked_buffer_full", status.nacked_buffer_full)
        .field("nacked_too_large", status.nacked_too_large)
        .field("queue_depth_max", status.queue_depth_max)
        .field("queue_bound", status.queue_bound)
        .field("service_ns_mean", status.service.as_ns_f64())
        .field("buffer_bytes", status.buffer_bytes())
        .field("buffer_bytes_used_max", status.slots_used_max * u64::from(nebula_nic::SLOT_BYTES))
        .field("migrated_out", status.migrated_out)
        .field("migrated_in", status.migrated_in)
        .field("violations", status.violations)
        .field("stolen", status.stolen)
        .field("repeated", status.repeated)
        .field("nacked_stale", status.nacked_stale)
        .field("nacked_expired", status.nacked_expired)
        .field("cancelled", status.cancelled)
        .shown("served", status.freed.to_string())
        .shown("NACKed", status.nacked().to_string())
        .shown("queue max", status.queue_depth_max.to_string())
        .shown("service", units::span(status.service))
        .shown("receive buffer", units::bytes(status.buffer_bytes()))
        .shown("most used", units::bytes(status.slots_used_max * u64::from(nebula_nic::SLOT_BYTES)))
}
