//! The command line: commands, help and errors.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use nebula_ui::words::in_one_line;

use crate::{
    compare, completions, demo, doctor, echo, explain, incast, keygen, kv, life, load, man, nf, ordered, replicas,
    reproduce, simulate, size, status, sweep, thresholds, top,
};
use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula demo                                            a service under overload, for half a minute
  nebula doctor                                          check cores, pauses, clock and memory
  nebula size --cores 64 --load 0.984375 --rpc-bytes 1024
  nebula simulate --policy rss,jbsq:2 --service exp:1us --load 0.5,0.9     policies
  nebula simulate --machine isca20 --rate 10,22MRPS --breakdown            NIC designs
  nebula compare --workload bimodal-1                    published schedulers side by side
  nebula incast                                          64 senders and one receive buffer, by flow control
  nebula sweep study.toml --format csv                   a question at every point of a grid
  nebula serve kv --endpoint shm://kv --inline           in one terminal
  nebula load kv --endpoint shm://kv --preload --rate 200k        in another terminal
  nebula load kv --endpoint shm://kv --find-slo 100us
  nebula status shm://kv                                 counters of a running server, and a health check
  nebula top shm://kv                                    the same, live
  nebula replicas udp://10.0.0.1:7400                    who leads a replicated store
  nebula serve ordered --inline                          a store with range scans
  nebula explain kv.log --line 7                         one decision in the runtime, simulator and hardware
  nebula keygen kv.key                                   a key for udp:// or tcp:// between machines

Exit codes: 0 success, 1 error at run time, 2 invalid input, 130 interrupted by Ctrl-C, 141 nobody reads standard output any more.
Results that cannot be written are an error at run time.";

/// Microsecond-scale RPC with bounded tail latency
#[derive(Debug, Parser)]
#[command(name = "nebula", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Doctor(doctor::Args),
    Size(Box<size::Args>),
    Simulate(Box<simulate::Args>),
    Compare(Box<compare::Args>),
    Reproduce(reproduce::Args),
    Incast(incast::Args),
    Sweep(sweep::Args),
    Thresholds(thresholds::Args),
    Explain(explain::Args),
    Keygen(keygen::Args),
    Status(status::Args),
    Top(top::Args),
    Replicas(replicas::Args),
    #[command(subcommand)]
    Config(life::ConfigCommand),
    Completions(completions::Args),
    Man(man::Args),
    /// Run a service until Ctrl-C or SIGTERM
    #[command(subcommand)]
    Serve(Serve),
    /// Generate load for a service and measure its latency
    #[command(subcommand)]
    Load(Load),
}

#[derive(Debug, Subcommand)]
enum Serve {
    Kv(Box<kv::Args>),
    Echo(Box<echo::Args>),
    Ordered(Box<ordered::Args>),
    Nf(Box<nf::Args>),
}

#[derive(Debug, Subcommand)]
enum Load {
    Kv(Box<load::Args>),
    Echo(Box<load::EchoArgs>),
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> Result<(), Failure> {
    let words = life::with_settings(&Cli::command(), std::env::args_os())?;
    let (cli, given) = match parsed(words) {
        Ok(parsed) => parsed,
        Err(answer) => return answer_to(&answer),
    };
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Simulate(args) => simulate::run(&args, given.subcommand().map_or(&given, |(_, given)| given)),
        Command::Compare(args) => compare::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Incast(args) => incast::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Thresholds(args) => thresholds::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
        Command::Status(args) => status::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Replicas(args) => replicas::run(&args),
        Command::Config(life::ConfigCommand::Check(args)) => life::check(&args, &Cli::command()),
        Command::Serve(Serve::Kv(args)) => kv::run(*args),
        Command::Serve(Serve::Echo(args)) => echo::run(&args),
        Command::Serve(Serve::Ordered(args)) => ordered::run(&args),
        Command::Serve(Serve::Nf(args)) => nf::run(&args),
        Command::Load(Load::Kv(args)) => load::run_command(*args, innermost(&given)),
        Command::Load(Load::Echo(args)) => load::run_echo(*args),
    }
}

/// The raw arguments of the last of the commands that are given.
fn innermost(given: &ArgMatches) -> &ArgMatches {
    given.subcommand().map_or(given, |(_, given)| innermost(given))
}

/// The command, and the raw arguments. The raw arguments tell a given value from a default.
fn parsed(words: Vec<OsString>) -> Result<(Cli, ArgMatches), clap::Error> {
    let given = Cli::command().try_get_matches_from(words)?;
    let cli = Cli::from_arg_matches(&given).map_err(|error| error.format(&mut Cli::command()))?;
    Ok((cli, given))
}

/// Help and version are results. Everything else is invalid input, reported in one line.
fn answer_to(answer: &clap::Error) -> Result<(), Failure> {
    match answer.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print_line(answer.render().to_string().trim_end())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::bad_input("missing command: run nebula --help to list the commands"))
        }
        _ => Err(Failure::BadInput(in_one_line(&answer.render().to_string()))),
    }
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
        fn check(command: &clap::Command) {
            let leaves = command.get_subcommands().filter(|sub| sub.get_name() != "help").collect::<Vec<_>>();
            if leaves.is_empty() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("Examples:"), "{} shows none", command.get_name());
            }
            leaves.into_iter().for_each(check);
        }
        check(&Cli::command());
    }
}
