//! `cargo xtask soak`: a server under load for minutes. Its memory, files and threads must not
//! grow.
//!
//! It is `trust soak` of the program `nebula-bench`.

use crate::bench::soak as measured;
use crate::shell::{Failure, Shell};

/// Arguments of `cargo xtask soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long, in seconds; at most an hour.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The load, as a part or a multiple of the peak, which is measured first.
    #[arg(long, default_value_t = 0.8)]
    load: f64,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    measured(shell, args.seconds, args.load)
}
