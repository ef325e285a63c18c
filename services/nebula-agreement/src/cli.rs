//! The command line: commands, help and errors.

use clap::{Parser, Subcommand};
use nebula_ui::output::program::answer_to;
use nebula_ui::{Failure, signal};

use crate::{groups, incast, scans};

const EXAMPLES: &str = "Examples:
  nebula-agreement groups                  one of two groups loaded more than the other
  nebula-agreement scans                   GETs and SCANs of one core
  nebula-agreement incast --runtime 2s     64 senders and one receive buffer

`nebula demo groups`, `nebula demo scans` and `nebula incast --runtime TIME` run the same commands.";

/// Runs of the runtime beside what the laboratory predicts of them
#[derive(Debug, Parser)]
#[command(name = "nebula-agreement", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Groups(groups::Args),
    Scans(scans::Args),
    Incast(incast::Args),
}

pub(crate) fn run() -> Result<(), Failure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => return answer_to("nebula-agreement", &answer),
    };
    signal::catch()?;
    match cli.command {
        Command::Groups(args) => groups::run(&args),
        Command::Scans(args) => scans::run(&args),
        Command::Incast(args) => incast::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }
}
