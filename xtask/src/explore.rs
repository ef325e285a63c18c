//! `cargo xtask explore`: property tests with new random seeds, for longer than a test run gives
//! them.
//!
//! `cargo xtask test` runs every property with the same fixed seeds each time. What exploring finds
//! is printed with its seed and becomes a named test.

use crate::shell::{Failure, Shell, run as run_command};

/// What `cargo xtask explore` can be told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Time for each property, in milliseconds.
    #[arg(long, default_value_t = 2000)]
    ms: u64,
    /// Explore this package alone; may be given again.
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let mut command = shell.cargo(&["test", "--lib", "--tests"]);
    if args.package.is_empty() {
        command.arg("--workspace");
    }
    args.package.iter().for_each(|name| {
        command.args(["--package", name]);
    });
    run_command(command.env("NEBULA_EXPLORE_MS", args.ms.to_string()))
}
