//! `cargo xtask explore`: the checks of `cargo xtask test` for longer and with new seeds.
//!
//! A finding is printed with its seed or its input, and becomes a named test or a seed of the fuzz
//! target.

pub(crate) mod coverage;

use crate::shell::{Failure, Shell, run as run_command};
use crate::{bench, fuzz};

/// What `cargo xtask explore` can be told.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    properties: Properties,
}

/// What is explored. Its name may stand for the command: `cargo xtask fuzz`.
#[derive(clap::Subcommand)]
pub(crate) enum What {
    /// Run property tests with new random seeds; so does `explore` alone.
    Property(Properties),
    /// Run servers and clients on a simulated bad network.
    Network(Network),
    /// Call servers over real sockets and a hostile link.
    Relay {
        /// How many calls in the plain, and as many sealed.
        #[arg(long, default_value_t = 5_000_000)]
        calls: u64,
    },
    /// Keep a server under load, and see whether its memory, files or threads grow.
    Soak {
        /// How long, in seconds; at most an hour.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// The load, as a part or a multiple of the peak, which is measured first.
        #[arg(long, default_value_t = 0.8)]
        load: f64,
    },
    /// Fuzz one target, or all, on stable Rust.
    Fuzz(fuzz::Args),
    /// Count how often the laboratory's intervals hold the exact value.
    Coverage(coverage::Args),
}

#[derive(clap::Args)]
pub(crate) struct Properties {
    /// Time for each property, in milliseconds.
    #[arg(long, default_value_t = 2000)]
    ms: u64,
    /// Explore this package alone; may be given again.
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct Network {
    /// How many seeds to run.
    #[arg(long, default_value_t = 10_000, conflicts_with = "seed")]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0, conflicts_with = "seed")]
    from: u64,
    /// Run this seed alone.
    #[arg(long)]
    seed: Option<u64>,
    /// Print what happens.
    #[arg(long, requires = "seed")]
    trace: bool,
}

/// Runs the seeds of the network, and prints how to repeat each run that fails.
const NETWORK: &str = "udp_network::whatever_the_network_does_each_call_ends_once_and_truly";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    match args.what.as_ref() {
        None => properties(shell, &args.properties),
        Some(What::Property(args)) => properties(shell, args),
        Some(What::Network(args)) => network(shell, args),
        Some(What::Relay { calls }) => {
            let mut test = shell.cargo(&["test", "--release", "--package", "nebula", "--test", "all", "--"]);
            // One after the other: two at once are six threads that poll.
            test.args(["udp_million::", "--nocapture", "--test-threads=1"]);
            run_command(test.env("NEBULA_CALLS", calls.to_string()))
        }
        Some(What::Soak { seconds, load }) => bench::soak(shell, *seconds, *load),
        Some(What::Fuzz(args)) => fuzz::run(shell, args),
        Some(What::Coverage(args)) => coverage::run(shell, args),
    }
}

fn properties(shell: &Shell, args: &Properties) -> Result<(), Failure> {
    let mut test = shell.cargo(&["test", "--lib", "--tests"]);
    if args.package.is_empty() {
        test.arg("--workspace");
    }
    test.args(args.package.iter().flat_map(|name| ["--package", name]));
    run_command(test.env("NEBULA_EXPLORE_MS", args.ms.to_string()))
}

fn network(shell: &Shell, args: &Network) -> Result<(), Failure> {
    let (from, seeds) = args.seed.map_or((args.from, args.seeds), |seed| (seed, 1));
    let mut test = shell.cargo(&["test", "--package", "nebula", "--test", "counted", "--"]);
    test.args(["--nocapture", "--exact", NETWORK]);
    test.env("NEBULA_SEED_FROM", from.to_string()).env("NEBULA_SEEDS", seeds.to_string());
    if args.trace {
        test.env("NEBULA_TRACE", "1");
    }
    run_command(&mut test)
}
