//! The command line: commands, help and errors.

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use nebula_ui::Failure;
use nebula_ui::output::program::answer_to;

use crate::{compare, incast, reproduce, simulate, size, sweep, thresholds};

const EXAMPLES: &str = "Examples:
  nebula-lab size --cores 64 --load 0.984375 --rpc-bytes 1024
  nebula-lab simulate --policy rss,jbsq:2 --service exp:1us --load 0.5,0.9     policies
  nebula-lab simulate --machine isca20 --rate 10,22MRPS --breakdown            NIC designs
  nebula-lab compare --workload bimodal-1                    published schedulers side by side
  nebula-lab incast                                          64 senders and one receive buffer, by flow control
  nebula-lab sweep study.toml --format csv                   a question at every point of a grid

`nebula simulate` and so on run the same commands.";

/// The laboratory: microsecond-scale servers in simulated time, with confidence intervals
#[derive(Debug, Parser)]
#[command(name = "nebula-lab", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Size(Box<size::Args>),
    Simulate(Box<simulate::Args>),
    Compare(Box<compare::Args>),
    Reproduce(reproduce::Args),
    Incast(incast::Args),
    Sweep(sweep::Args),
    Thresholds(thresholds::Args),
}

pub(crate) fn run() -> Result<(), Failure> {
    let (cli, given) = match parsed() {
        Ok(parsed) => parsed,
        Err(answer) => return answer_to("nebula-lab", &answer),
    };
    match cli.command {
        Command::Size(args) => size::run(&args),
        Command::Simulate(args) => simulate::run(&args, given.subcommand().map_or(&given, |(_, given)| given)),
        Command::Compare(args) => compare::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Incast(args) => incast::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Thresholds(args) => thresholds::run(&args),
    }
}

/// The command and its raw arguments, which distinguish a given value from a default.
fn parsed() -> Result<(Cli, ArgMatches), clap::Error> {
    let given = Cli::command().try_get_matches()?;
    let cli = Cli::from_arg_matches(&given).map_err(|error| error.format(&mut Cli::command()))?;
    Ok((cli, given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands().filter(|command| command.get_name() != "help") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} shows none", command.get_name());
        }
    }
}
