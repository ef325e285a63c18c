//! `cargo xtask relay`: calls over real sockets and a hostile link; more than `cargo test` makes,
//! and faster.
//!
//! They are those of the tests `udp_million` of the crate `nebula`.

use crate::shell::{Failure, Shell, run as run_command};

/// Arguments of `cargo xtask relay`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many calls in the plain, and as many sealed.
    #[arg(long, default_value_t = 5_000_000)]
    calls: u64,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let test = ["test", "--release", "--package", "nebula", "--test", "all", "--", "udp_million::", "--nocapture"];
    let mut command = shell.cargo(&test);
    // One after the other: two at once are six threads that poll.
    command.arg("--test-threads=1").env("NEBULA_CALLS", args.calls.to_string());
    run_command(&mut command)
}
