//! The process of one tier.

use crate::edge::EdgeReport;
use crate::places::{Places, place};
use crate::tier::{Threads, Tier};
use crate::tiers::{self, Serving};
use crate::work::Work;
use nebula::{Endpoint, Server, ServerConfig, Span};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// RPCs of a tier that wait for other tiers, or in its pool.
const LATER_MAX: u16 = 48;

/// A tier, as its process is started.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Which tier
    #[arg(value_enum)]
    tier: Tier,
    /// Name of the application: its tiers find each other by it
    #[arg(long, default_value = "flight")]
    app: String,
    /// Where to serve [default: shared memory, by the names of application and tier]
    #[arg(long)]
    endpoint: Option<Endpoint>,
    /// Where a tier is that this one calls, such as flights=udp://127.0.0.1:7400; may be given
    /// several times [default: as --endpoint]
    #[arg(long, value_name = "TIER=ENDPOINT", value_parser = place)]
    place: Vec<(Tier, String)>,
    /// Where handlers run that take long or call other tiers
    #[arg(long, value_enum, default_value = "worker")]
    threads: Threads,
    /// Threads of the pool, where handlers run there
    #[arg(long, default_value_t = 16)]
    pool_threads: u16,
    /// Latency that 99 % of the tier's RPCs must keep
    #[arg(long, default_value = "10ms")]
    slo: Span,
    /// What each handler waits for, in addition to other tiers [default: 200us for flights,
    /// otherwise nothing]
    #[arg(long)]
    wait: Option<Span>,
    /// Print a line of JSON this often
    #[arg(long)]
    report_every: Option<Span>,
    /// End when the parent process does
    #[arg(long)]
    end_with_parent: bool,
}

/// What a tier says of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TierReport {
    pub(crate) tier: String,
    pub(crate) interval_ms: f64,
    /// RPCs that came to a handler, or to the pool.
    pub(crate) served: u64,
    /// RPCs that the NIC or the pool has refused.
    pub(crate) refused: u64,
    /// RPCs that wait, or run in the pool, at the interval's end.
    pub(crate) waiting: u64,
    pub(crate) edges: Vec<EdgeReport>,
}

/// Serves until the process is ended.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if args.end_with_parent {
        nebula_sys::process::end_with_parent()?;
    }
    let executor = Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
    let wait = args.wait.map_or(args.tier.wait(), |wait| Duration::from_nanos(wait.as_ns()));
    let work = Work { threads: args.threads, wait, tasks: executor.handle().clone() };
    let mut places = Places::new(&args.app);
    args.place.iter().cloned().for_each(|(tier, endpoint)| places.insert(tier, endpoint));
    let endpoint = args.endpoint.clone().map_or_else(|| places.of(args.tier).parse(), Ok)?;
    let server = Server::bind(endpoint).config(config(args));
    let serving = tiers::serve(args.tier, &places, server, work)?;
    say(&format!("ready {}", serving.server.endpoint()))?;
    let mut before = Instant::now();
    let mut counted = Counted::of(&serving);
    loop {
        std::thread::sleep(Duration::from_nanos(args.report_every.unwrap_or(Span::from_secs(3600)).as_ns()));
        let now = Counted::of(&serving);
        let report = TierReport {
            tier: args.tier.name().to_owned(),
            interval_ms: before.elapsed().as_secs_f64() * 1e3,
            served: now.served.saturating_sub(counted.served),
            refused: now.refused.saturating_sub(counted.refused),
            waiting: now.waiting,
            edges: (serving.edges)(),
        };
        (before, counted) = (Instant::now(), now);
        if args.report_every.is_some() {
            say(&serde_json::to_string(&report)?)?;
        }
    }
}

fn config(args: &Args) -> ServerConfig {
    let config = ServerConfig::default().inline(true).slo(args.slo).pool_max(LATER_MAX);
    // What the receive buffer is sized from, until what RPCs take is measured.
    let config = config.service_mean(Duration::from_micros(20)).rpc_bytes_mean(64).rpc_bytes_max(1024);
    match args.threads {
        Threads::Dispatch => config.pool_threads(0),
        Threads::Worker if args.tier.calls().is_empty() => config.pool_threads(args.pool_threads),
        Threads::Worker => config.later_max(LATER_MAX),
    }
}

/// The server's counters.
struct Counted {
    served: u64,
    refused: u64,
    waiting: u64,
}

impl Counted {
    fn of(serving: &Serving) -> Self {
        let (status, pool) = (serving.server.status().read(), serving.server.pool());
        let (in_pool, refused_by_pool) = pool.map_or((0, 0), |pool| (pool.held, pool.refused));
        let nacked = status.nacked_queue_bound + status.nacked_buffer_full + status.dropped;
        Self {
            served: status.dispatched.saturating_sub(refused_by_pool),
            refused: nacked + refused_by_pool,
            waiting: status.queue_depth + u64::from(in_pool),
        }
    }
}

/// Prints a line.
fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
