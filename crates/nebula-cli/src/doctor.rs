//! `nebula doctor`: what this machine can promise, and how to mend it.

use crate::output::Failure;

/// Say what this machine can promise
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nebula doctor")]
pub(crate) struct Args {}

/// Prints a line for each thing looked at.
pub(crate) fn run(_args: &Args) -> Result<(), Failure> {
    Ok(())
}
