//! `cargo xtask network`: servers and clients on a simulated bad network; more runs than
//! `cargo test` makes, or one of them again.
//!
//! The runs are those of the test `udp_network` of the crate `nebula`, which prints how to repeat
//! each run that fails.

use crate::shell::{Failure, Shell, run as run_command};

/// Arguments of `cargo xtask network`.
#[derive(clap::Args)]
pub(crate) struct Args {
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

/// The test that runs the seeds.
const TEST: &str = "udp_network::whatever_the_network_does_each_call_ends_once_and_truly";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let (from, seeds) = args.seed.map_or((args.from, args.seeds), |seed| (seed, 1));
    let mut command =
        shell.cargo(&["test", "--package", "nebula", "--test", "counted", "--", "--nocapture", "--exact", TEST]);
    command.env("NEBULA_SEED_FROM", from.to_string()).env("NEBULA_SEEDS", seeds.to_string());
    if args.trace {
        command.env("NEBULA_TRACE", "1");
    }
    run_command(&mut command)
}
