//! The command line: commands, help and errors.

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use nebula_ops::life;
use nebula_ui::Failure;
use nebula_ui::output::program::answer_to;

use crate::{nf, ordered};

const EXAMPLES: &str = "Examples:
  nebula-services serve ordered                                          a store with range scans
  nebula-services serve nf --chain counter --between eth0,eth1           a router that counts
  nebula-services config check ordered.toml

`nebula serve ordered` and `nebula serve nf` run the same commands.";

/// Services on top of Nebula
#[derive(Debug, Parser)]
#[command(name = "nebula-services", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a service until Ctrl-C or SIGTERM
    #[command(subcommand)]
    Serve(Serve),
    #[command(subcommand)]
    Config(life::ConfigCommand),
}

#[derive(Debug, Subcommand)]
enum Serve {
    Ordered(Box<ordered::Args>),
    Nf(Box<nf::Args>),
}

pub(crate) fn run() -> Result<(), Failure> {
    let words = life::with_settings(&Cli::command(), std::env::args_os())?;
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(answer) => return answer_to("nebula-services", &answer),
    };
    match cli.command {
        Command::Serve(Serve::Ordered(args)) => ordered::run(&args),
        Command::Serve(Serve::Nf(args)) => nf::run(&args),
        Command::Config(life::ConfigCommand::Check(args)) => life::check(&args, &Cli::command(), check),
    }
}

/// Whether the service would refuse these settings.
fn check(service: &str, given: &ArgMatches) -> Result<(), Failure> {
    let wrong = |error: clap::Error| Failure::bad_input(error);
    match service {
        "ordered" => ordered::check(&ordered::Args::from_arg_matches(given).map_err(wrong)?),
        _ => nf::check(&nf::Args::from_arg_matches(given).map_err(wrong)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }
}
