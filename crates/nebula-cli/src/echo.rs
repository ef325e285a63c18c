//! `nebula serve echo`: a service that answers with the request, to measure everything but a service. Its client is
//! [`load echo`](crate::load).

use std::hint::spin_loop;

use nebula::{Endpoint, IdlePolicy, Policy, Reply, Server, ServerConfig, Span};
use nebula_sys::clock::Clock;

use crate::flags::{self, Format};
use crate::life::{Life, LifeArgs};
use crate::output::{self, Failure};
use crate::{life, signal};

const EXAMPLES: &str = "Examples:
  nebula serve echo --inline                              one core, at shm://echo
  nebula serve echo --inline --work 2us --metrics 127.0.0.1:9464
  nebula serve echo --endpoint udp://127.0.0.1:7400 --workers 2 --policy jbsq:2

When the server is ready, it prints the line `ready ENDPOINT` on standard output. At the end it prints its counters.";

/// Serve an echo until Ctrl-C or SIGTERM
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME or udp://ADDRESS:PORT
    #[arg(long, default_value = "shm://echo")]
    endpoint: Endpoint,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: u16,
    /// Dispatch policy, as for nebula serve kv
    #[arg(long, default_value = "jbsq:2")]
    policy: Policy,
    /// SLO on the p99 latency; it determines the size of receive buffer and queue
    #[arg(long, default_value = "100us")]
    slo: Span,
    /// NIC engines, among which clients and workers are divided
    #[arg(long, default_value_t = 1)]
    engines: u16,
    /// Run each NIC engine and its worker on one thread
    #[arg(long)]
    inline: bool,
    /// Computation time of each RPC
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// The longest request, in bytes
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    rpc_bytes_max: u32,
    /// Cores to pin threads to: first the engines, then the workers
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// When idle, poll without pause
    #[arg(long)]
    spin: bool,
    /// Key file shared with the clients, for udp://
    #[arg(long, value_name = "FILE")]
    key_file: Option<std::path::PathBuf>,
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
    let keys = flags::read_keys(args.key_file.as_deref(), matches!(args.endpoint, Endpoint::Udp(_)))?;
    let mut config = config(args);
    config.keys = keys;
    let server = Server::bind(&args.endpoint).config(config).serve(echo(args.work))?;
    let ended = life.live(vec![server], None, |_| {})?;
    let printed = output::print(args.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed)
}

/// Answers with the request after `work` of computation.
fn echo(work: Span) -> impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static {
    let clock = Clock::new();
    let work_ticks = clock.ticks_of(work.as_ps());
    move |request: &[u8], reply: &mut Reply<'_>| {
        if work_ticks > 0 {
            let from = clock.ticks();
            while clock.ticks().wrapping_sub(from) < work_ticks {
                spin_loop();
            }
        }
        reply.write(request);
    }
}

fn config(args: &Args) -> ServerConfig {
    let mut config = ServerConfig::default()
        .policy(args.policy)
        .slo(args.slo)
        .workers(args.workers)
        .engines(args.engines)
        .inline(args.inline)
        .rpc_bytes_max(args.rpc_bytes_max)
        .insecure(args.insecure)
        .pin(args.pin.clone());
    // Stated, because the receive buffer is sized before the first RPC can be measured.
    config.service_mean += args.work;
    if args.spin {
        config.idle = IdlePolicy::Spin;
    }
    config
}
