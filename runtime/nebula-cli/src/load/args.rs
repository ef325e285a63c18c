//! The command line of `nebula load kv`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use nebula::{Balance, FlowKind};
use nebula_kvs::VALUE_BYTES_MAX;
use nebula_nic::{Span, Timestamp};
use nebula_sys::affinity::allowed_cores;
use nebula_workload::keys::KEY_BYTES_MIN;
use nebula_workload::{Arrivals, Column, KEY_BYTES, Keys, Mix, Op, Operation, Rate, Seed, TraceReader};

use super::preset::{self, Preset};
use super::{rows, verdict};
use crate::drive::{Exchange, FoundSlo, LoadOutcome, LoadPlan, Memcached, Probe, Progress, find_slo, preload, run};
use crate::flags::{Format, ServerList, SloOf};
use crate::{flags, report};
use nebula_ui::output::{self, Failure, units};
use nebula_ui::signal;

const EXAMPLES: &str = "Examples:
  nebula load kv --preload --rate 200k                          store all keys, then send 50 % GET, 50 % SET for 5 s
  nebula load kv --rate 1.5M --mix get=95,set=5 --key-dist zipf:0.99 --clients 2
  nebula load kv --find-slo 100us --format json                 the highest rate whose p99 is within 100 µs
  nebula load kv --trace day.csv --preload --keys 100k
  nebula load kv --endpoint udp://192.0.2.7:7400 --key-file kv.key --rate 100k       another machine, over UDP
  nebula load kv --endpoint tcp://127.0.0.1:7400 --flow none                         no window: TCP loses nothing and holds back by itself
  nebula load kv --endpoint shm://a,shm://b --preload --rate 100k                    two servers, each with half of the keys
  nebula load kv --endpoint udp://10.0.0.1:7400,udp://10.0.0.2:7400,udp://10.0.0.3:7400 --replicated --mix set=100 --rate 5k --key-file kv.key      replicas
  nebula load kv --preset herd --preload --rate 500k            the load of a paper; other flags change parts of it
  nebula load kv --endpoint shm://ordered --preset masstree --preload --find-slo 10ms --slo-of get=12.5us
  nebula load kv --protocol memcached --endpoint tcp://127.0.0.1:11211 --preload --keys 100k --rate 50k
  nebula load kv --rate 500k --report load.html                 also write a report with charts

Every RPC that is due ends in one column: replied, NACKed, refused by the client because its slots or its window are full and it would miss the server's SLO, or has waited for --patience (client full), lost \
without an answer, or unsent. The exit code is 1, beside the results, if any is lost or unsent: then the load was not what was asked for, even where \
the load generator was too slow for it. Sent late is not unsent: a note says so. A server that answers nothing for 5 s ends the load.

Latency is measured from the scheduled send time. All but replies count as infinite latency, which is null in JSON. Each tail is shown twice: raw, and without the RPCs that met a pause of the machine (gaps excluded), with the share of RPCs kept.";

/// Generate open-loop load for the key-value service and measure its latency
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", preset::list()))]
pub(crate) struct Args {
    /// Endpoint of the server: shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or
    /// xdp://INTERFACE/ADDRESS:PORT; several with commas between them, each with
    /// ?weight=N&zone=NAME where it has one, or file://PATH with one a line
    #[arg(long, default_value = "shm://kv")]
    endpoint: ServerList,
    /// What the server speaks; memcached: Nebula's `serve kv --memcached`, or any memcached server,
    /// at tcp://ADDRESS:PORT
    #[arg(long, value_enum, default_value_t = Protocol::Nebula)]
    protocol: Protocol,
    /// Connections of each client, with --protocol memcached
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=16_384))]
    connections: u16,
    /// Requests of a connection that are under way at once at most, with --protocol memcached;
    /// those that are due go out together
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pipeline: u16,
    /// Which of several servers gets an RPC: key-hash, p2c, random, round-robin [default: key-hash,
    /// so that each has its keys]
    #[arg(long, value_name = "HOW")]
    balance: Option<Balance>,
    /// The servers are the replicas of one store (nebula serve kv --replicate): send to the one
    /// that leads
    #[arg(long, conflicts_with = "balance")]
    replicated: bool,
    /// Zone that the clients are of: servers of other zones (udp://ADDRESS:PORT?zone=NAME) get RPCs
    /// only while none near has room
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// RPCs per second, summed over all clients; the first rate of --find-slo
    #[arg(long, default_value = "200k", conflicts_with = "trace")]
    rate: Rate,
    /// Duration of the measurement [default: 5s, or 1s for each load of --find-slo]
    #[arg(long, conflicts_with = "trace")]
    duration: Option<Span>,
    /// Duration of the warm-up, which is not measured [default: 1s, 200ms with --find-slo, 0s with
    /// --trace]
    #[arg(long)]
    warm_up: Option<Span>,
    /// Arrival process: poisson, paced
    #[arg(long, default_value = "poisson", conflicts_with = "trace")]
    arrivals: Arrivals,
    /// Take sizes, keys and mix of a paper's load where they are not given; those are listed below
    #[arg(long, value_name = "NAME", conflicts_with = "trace", value_parser = preset::parse)]
    pub(super) preset: Option<Preset>,
    /// Number of keys
    #[arg(long, default_value = "1.6M", value_parser = flags::count)]
    pub(super) keys: u64,
    /// Key distribution: uniform, zipf:THETA
    #[arg(long, default_value = "uniform", conflicts_with = "trace")]
    pub(super) key_dist: Keys,
    /// Size of a key, in bytes
    #[arg(long, default_value_t = KEY_BYTES_DEFAULT, value_parser = clap::value_parser!(u8).range(KEY_BYTES_MIN as i64..))]
    pub(super) key_bytes: u8,
    /// Weights of GET, SET, DELETE and SCAN: percentages, or smaller numbers; SCAN needs nebula
    /// serve ordered
    #[arg(long, default_value = "get=50,set=50", conflicts_with = "trace", value_parser = flags::mix)]
    pub(super) mix: Mix,
    /// Size of a value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(0..=VALUE_BYTES_MAX as i64))]
    pub(super) value_bytes: u32,
    /// Pairs that a SCAN asks for
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) scan_items: u16,
    /// Client threads, each with a connection and a share of the rate
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,
    /// Seed of all random numbers; the same seed gives the same operations at the same times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Slots in the ring of each client, a power of two: the limit on outstanding RPCs
    #[arg(long, default_value_t = 256, value_parser = slots)]
    slots: u32,
    /// How long an RPC may wait for room in its client before it is refused there; 0ns refuses at
    /// once [default: as long as it can still keep the server's SLO, or 10ms without one]
    #[arg(long)]
    patience: Option<Span>,
    /// Key file shared with the server, for udp:// or tcp:// (see nebula keygen)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Use udp:// or tcp:// to another machine without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// What may be on the way to a udp:// or tcp:// server: window follows what is answered,
    /// refused and lost, homa what the server grants, none is no bound [default: window]
    #[arg(long, value_name = "window|homa|none")]
    flow: Option<FlowKind>,
    /// GETs read the server's store by one-sided reads, without any of its workers; the server is
    /// started with --one-sided
    #[arg(long)]
    one_sided: bool,
    /// Cores to pin client threads to, round-robin
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// Replay this CSV file: time_us,op,key,value_bytes, or a log with a header that has op, key
    /// and a time among its columns
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Column of the log with the times, and their unit [default: the one whose name ends in a
    /// unit, such as start_ms]
    #[arg(long, value_name = "NAME=UNIT", requires = "trace")]
    column: Option<Column>,
    /// Search for the highest rate whose p99 is within this bound
    #[arg(long, value_name = "SLO", conflicts_with = "trace")]
    find_slo: Option<Span>,
    /// With --find-slo: bounds on the p99 of single operations too, such as get=12.5us,scan=1ms
    #[arg(long, value_name = "OP=SLO,…", requires = "find_slo")]
    slo_of: Option<SloOf>,
    /// Store every key before the load
    #[arg(long)]
    preload: bool,
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[expect(clippy::cast_possible_truncation, reason = "16")]
const KEY_BYTES_DEFAULT: u8 = KEY_BYTES as u8;
/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// Nebula's own
    Nebula,
    /// memcached's text protocol
    Memcached,
}

fn slots(text: &str) -> Result<u32, String> {
    let slots = text.parse().ok().filter(|slots: &u32| slots.is_power_of_two() && (2..=1 << 16).contains(slots));
    slots.ok_or_else(|| format!("expected a power of two from 2 to 65536, not {text:?}"))
}

pub(crate) fn run_command(mut args: Args, given: &ArgMatches) -> Result<(), Failure> {
    signal::catch()?;
    preset::complete(&mut args, given);
    let plan = plan(&args)?;
    if args.preload {
        preload_all(&plan)?;
    }
    carry_out(&plan, args.find_slo, &Output { format: args.format, report: args.report })
}

pub(super) struct Output {
    pub(super) format: Format,
    pub(super) report: Option<PathBuf>,
}

/// Runs a load, or the search for the highest that meets `slo`, and prints the results.
pub(super) fn carry_out(plan: &LoadPlan, slo: Option<Span>, output: &Output) -> Result<(), Failure> {
    match slo {
        Some(slo) => search(plan, slo, output),
        None => measure(plan, output),
    }
}

fn plan(args: &Args) -> Result<LoadPlan, Failure> {
    let (duration, warm_up) = match (&args.trace, args.find_slo) {
        (Some(_), _) => (Span::ZERO, Span::ZERO),
        (None, Some(_)) => (Span::from_secs(1), Span::from_ms(200)),
        (None, None) => (Span::from_secs(5), Span::from_secs(1)),
    };
    let plan = LoadPlan {
        exchange: Exchange::Kv,
        endpoint: args.endpoint.clone(),
        memcached: (args.protocol == Protocol::Memcached)
            .then_some(Memcached { connections: args.connections, pipeline: args.pipeline }),
        balance: args.balance.unwrap_or(if args.replicated { Balance::RoundRobin } else { Balance::KeyHash }),
        replicated: args.replicated,
        zone: args.zone.clone(),
        rate: args.rate,
        duration: args.duration.unwrap_or(duration),
        warm_up: args.warm_up.unwrap_or(warm_up),
        arrivals: args.arrivals.clone(),
        key_count: args.keys,
        keys: args.key_dist,
        mix: args.mix,
        value_bytes: args.value_bytes,
        key_bytes: args.key_bytes.into(),
        scan_items: args.scan_items,
        slo_of: args.slo_of.clone().unwrap_or_default().0,
        clients: args.clients,
        seed: Seed(args.seed),
        slots: args.slots,
        patience: args.patience,
        late_after: LoadPlan::default().late_after,
        pin: args.pin.clone(),
        trace: args.trace.as_deref().map(|path| read_trace(path, args.column.as_ref())).transpose()?,
        network_keys: flags::read_keys(args.key_file.as_deref(), args.endpoint.has_network())?,
        insecure: args.insecure,
        flow: flags::flow(args.flow, &args.endpoint)?,
        one_sided: args.one_sided,
    };
    check(&plan, args)?;
    Ok(plan)
}

/// Refuses a load that cannot run before anything is connected or stored.
fn check(plan: &LoadPlan, args: &Args) -> Result<(), Failure> {
    plan.keys.over(plan.key_count)?;
    if args.zone.is_some() && (!plan.endpoint.has_several() || plan.balance == Balance::KeyHash) {
        return Err(Failure::bad_input(
            "--zone needs servers to choose from, and a --balance other than key-hash, under which keys have their servers in all zones",
        ));
    }
    if args.replicated && !plan.endpoint.has_several() {
        return Err(Failure::bad_input("--replicated needs the replicas: give all to --endpoint, with commas"));
    }
    if args.replicated && cfg!(not(feature = "replicate")) {
        let how = "cargo build -p nebula-cli --features replicate";
        return Err(Failure::bad_input(format!("--replicated: this program was built without it: {how}")));
    }
    if plan.one_sided && (plan.endpoint.has_several() || plan.memcached.is_some()) {
        return Err(Failure::bad_input(
            "--one-sided reads the store of one server of Nebula's protocol: give one --endpoint",
        ));
    }
    if args.balance.is_some() && !plan.endpoint.has_several() {
        return Err(Failure::bad_input(
            "--balance needs servers to choose from: give several to --endpoint, with commas",
        ));
    }
    if args.flow.is_some() && plan.memcached.is_some() {
        return Err(Failure::bad_input(
            "--flow is of Nebula's protocol: with --protocol memcached, --pipeline is the bound",
        ));
    }
    if plan.memcached.is_some() {
        check_for_memcached(plan)?;
    }
    let allowed = allowed_cores();
    if let Some(core) = plan.pin.iter().find(|core| !allowed.contains(core)) {
        return Err(Failure::bad_input(format!(
            "--pin: a client cannot be pinned to core {core}: give cores that this process may use, such as {}",
            allowed.first().unwrap_or(&0)
        )));
    }
    args.report.as_deref().map_or(Ok(()), |path| report::check_directory("--report", path))
}

fn check_for_memcached(plan: &LoadPlan) -> Result<(), Failure> {
    let has_digits = |digits: u32| plan.key_count.saturating_sub(1).checked_shr(4 * digits).unwrap_or(0) == 0;
    if plan.key_bytes > 250 || !u32::try_from(plan.key_bytes).is_ok_and(has_digits) {
        return Err(Failure::bad_input(format!(
            "--key-bytes: {} keys of {} digits are not what memcached can store: give 8 to 250, and more for more keys",
            plan.key_count, plan.key_bytes
        )));
    }
    if plan.mix.share(Op::Scan) > 0.0 {
        return Err(Failure::bad_input("--mix: memcached has no scan: give get, set or delete"));
    }
    Ok(())
}

fn read_trace(path: &Path, column: Option<&Column>) -> Result<Arc<[Operation]>, Failure> {
    let name = path.display();
    let file = nebula_files::lines(path).map_err(|error| Failure::bad_input(format!("cannot open {name}: {error}")))?;
    let reader = TraceReader::new(file);
    let reader = match column {
        Some(column) => reader.column(column.clone()),
        None => reader,
    };
    let operations: Arc<[Operation]> =
        reader.collect::<Result<_, _>>().map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
    if operations.is_empty() {
        return Err(Failure::bad_input(format!("{name}: the trace is empty")));
    }
    let longest = operations.iter().map(|operation| operation.value_bytes as usize).max().unwrap_or(0);
    if longest > VALUE_BYTES_MAX {
        return Err(Failure::bad_input(format!("{name}: a value has {longest} bytes; the limit is {VALUE_BYTES_MAX}")));
    }
    let last = operations.last().map_or(Span::ZERO, |last| last.at - Timestamp::ZERO);
    output::note(format!("{name}: {} operations in {}", operations.len(), units::span(last)));
    Ok(operations)
}

fn preload_all(plan: &LoadPlan) -> Result<(), Failure> {
    let bar = output::bar("storing {human_len} keys  {bar:40}  {percent} %", Some(plan.key_count));
    let stored = preload(plan, &mut |stored| bar.set_position(stored));
    bar.finish_and_clear();
    stored
}

fn measure(plan: &LoadPlan, args: &Output) -> Result<(), Failure> {
    let bar = output::bar("{msg}", None);
    let outcome = run(plan, &mut |progress| bar.set_message(line(progress)));
    bar.finish_and_clear();
    let outcome = outcome?;
    output::print(args.format, &[rows::load_row(&outcome)])?;
    draw(args, |footer| report::load::render_load(&outcome, footer))?;
    warn(plan, &outcome);
    signal::check()?;
    verdict::check(plan, &outcome)
}

fn search(plan: &LoadPlan, slo: Span, args: &Output) -> Result<(), Failure> {
    let bar = output::bar("{msg}", None);
    let mut judged = |probe: &Probe| bar.suspend(|| output::note(describe(probe)));
    let found = find_slo(plan, slo, &mut |progress| bar.set_message(line(progress)), &mut judged);
    bar.finish_and_clear();
    let found = found?;
    output::print(args.format, &[rows::search_row(&found)])?;
    draw(args, |footer| report::load::render_search(&found, footer))?;
    warn_of_search(&found);
    // Loads that miss the SLO are overloads on purpose.
    let met = found.best().filter(|best| best.is_met);
    met.map_or(Ok(()), |best| verdict::check(plan, &best.outcome))
}

fn draw(args: &Output, render: impl FnOnce(&str) -> String) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    report::write(path, &render(&report::made_by_this_command()))
}

fn line(progress: &Progress) -> String {
    let time = |span: Option<Span>| span.map_or("–".to_owned(), units::span);
    format!(
        "{:.1} of {:.1} s  {:>6} RPC/s  p50 {:>8}  p99 {:>8}  {} NACKs, {} refused here",
        progress.elapsed.as_secs_f64().min(progress.total.as_secs_f64()),
        progress.total.as_secs_f64(),
        units::rate(progress.replied_rps),
        time(progress.p50),
        time(progress.p99),
        progress.nacked,
        progress.refused,
    )
}

fn describe(probe: &Probe) -> String {
    let p99 = units::latency(probe.outcome.report.latency.raw().quantile(0.99));
    format!(
        "{:>6} RPC/s  p99 {p99:>9}  {}",
        units::rate(probe.rate.as_rps()),
        if probe.is_met { "met" } else { "missed" }
    )
}

fn warn(plan: &LoadPlan, outcome: &LoadOutcome) {
    let report = &outcome.report;
    if report.generator_was_late() {
        let share = units::percent(report.share_later_than(report.late_after));
        let bound = units::span(report.late_after);
        output::note(format!(
            "note: {share} of the RPCs were sent more than {bound} late although the ring had room: the load generator is part of the tail; \
             use a lower --rate, more --clients, or --pin"
        ));
    }
    if report.counts.not_found > 0 && plan.mix.share(Op::Delete) == 0.0 && plan.trace.is_none() {
        let missed = report.counts.not_found;
        output::note(format!(
            "note: {missed} GETs found no value, which takes less work than a hit: store all keys first with --preload"
        ));
    }
    if report.latency.unjudged() > 0 {
        output::note(format!(
            "note: {} RPCs count for the raw tail only: the load is too long to keep them all",
            report.latency.unjudged()
        ));
    }
    if outcome.was_interrupted {
        output::note("note: interrupted; the results cover the RPCs sent until then");
    }
}

/// Warns if the clients, not the server, may limit the result.
fn warn_of_search(found: &FoundSlo) {
    let is_late = |probe: &&Probe| !probe.is_met && probe.outcome.report.generator_was_late();
    let missed = found.probes.iter().filter(is_late).map(|probe| probe.rate.as_rps()).reduce(f64::min);
    if let Some(rate) = missed.filter(|&rate| found.result.lowest_missed_rps == Some(rate)) {
        let rate = units::rate(rate);
        output::note(format!(
            "note: at {rate} RPC/s the load generator was late; the result may be higher with more --clients"
        ));
    }
}
