//! `nebula serve echo`: answers with the request, to measure everything but a service. Its client
//! is [`load echo`](crate::load).

use std::hint::spin_loop;

use nebula::{Endpoint, IdlePolicy, Reply, RunningServer, ServerConfig, Span};
use nebula_sys::clock::Clock;

use nebula_ops::life;
use nebula_ops::or_fail::OrFail;
use nebula_ops::server_args::ServerArgs;
use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula serve echo --inline                              one core, at shm://echo
  nebula serve echo --inline --work 2us --metrics 127.0.0.1:9464
  nebula serve echo --endpoint udp://127.0.0.1:7400 --workers 2 --policy jbsq:2

When the server is ready, it prints the line `ready ENDPOINT` on standard output. At the end it prints its counters.";

/// Serve an echo until Ctrl-C or SIGTERM
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("policy", |arg| arg.help("Dispatch policy, as for nebula serve kv"))
)]
pub(crate) struct Args {
    /// Endpoint to serve: shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or
    /// xdp://INTERFACE:PORT
    #[arg(long, default_value = "shm://echo")]
    endpoint: Endpoint,
    #[command(flatten)]
    server: ServerArgs,
    /// NIC engines, among which clients and workers are divided
    #[arg(long, default_value_t = 1)]
    engines: u16,
    /// Computation time of each RPC
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// The longest request, in bytes
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    rpc_bytes_max: u32,
    /// When idle, poll without pause
    #[arg(long)]
    spin: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let life = args.server.begin(&[&args.endpoint])?;
    let server = args.server.bind(&args.endpoint, config(args)?)?.serve(echo(args.work)).or_fail()?;
    let again = |servers: &[RunningServer]| args.server.read_keys_again(servers, Some(&args.endpoint));
    let ended = life.live(vec![server], None, again)?;
    let printed = output::print(args.server.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    ended.end(printed)
}

/// Whether [`run`] would refuse these arguments.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    args.server.bind(&args.endpoint, config(args)?)?.check().or_fail()
}

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

fn config(args: &Args) -> Result<ServerConfig, Failure> {
    let mut config = args.server.config().engines(args.engines).rpc_bytes_max(args.rpc_bytes_max);
    // Stated, because the receive buffer is sized before the first RPC can be measured.
    config.service_mean += args.work;
    if args.spin {
        config.idle = IdlePolicy::Spin;
    }
    args.server.complete(config, &args.endpoint)
}
