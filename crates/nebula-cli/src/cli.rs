//! The words of the command line.

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::output::{self, Failure};
use crate::{compare, demo, doctor, keygen, kv, load, reproduce, simulate, size};

const EXAMPLES: &str = "Examples:
  nebula demo                                            a service keeps its SLO past saturation: half a minute
  nebula doctor                                          what this machine can promise
  nebula size --cores 64 --load 0.984375 --rpc-bytes 1024
  nebula simulate --policy rss,jbsq:2 --service exp:1us --load 0.5,0.9     any policy, with error bars
  nebula simulate --machine isca20 --rate 10,22MRPS --breakdown            designs of NIC, block by block
  nebula compare --workload bimodal-1                    every published scheduler, side by side
  nebula serve kv --endpoint shm://kv --inline           in one terminal
  nebula load kv --endpoint shm://kv --preload --rate 200k        in another
  nebula load kv --endpoint shm://kv --find-slo 100us
  nebula keygen kv.key                                   a key for udp:// between machines

Exit codes: 0 done, 1 a fault while running, 2 bad input, 130 ended by Ctrl-C.";

/// Microsecond-scale RPC that keeps its tail-latency promise
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
    Size(size::Args),
    Simulate(Box<simulate::Args>),
    Compare(Box<compare::Args>),
    Reproduce(reproduce::Args),
    Keygen(keygen::Args),
    /// Serve something until Ctrl-C
    #[command(subcommand)]
    Serve(Serve),
    /// Load a service, and measure it
    #[command(subcommand)]
    Load(Load),
}

#[derive(Debug, Subcommand)]
enum Serve {
    Kv(kv::Args),
}

#[derive(Debug, Subcommand)]
enum Load {
    Kv(Box<load::Args>),
}

/// Reads the command line and does what it says.
pub(crate) fn run() -> Result<(), Failure> {
    let (cli, given) = match parsed() {
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
        Command::Keygen(args) => keygen::run(&args),
        Command::Serve(Serve::Kv(args)) => kv::run(args),
        Command::Load(Load::Kv(args)) => load::run_command(*args),
    }
}

/// The command, and the arguments as they were written: a default does not tell whether it was.
fn parsed() -> Result<(Cli, ArgMatches), clap::Error> {
    let given = Cli::command().try_get_matches()?;
    let cli = Cli::from_arg_matches(&given).map_err(|error| error.format(&mut Cli::command()))?;
    Ok((cli, given))
}

/// Help and version are results; anything else is bad input, said in one line.
fn answer_to(answer: &clap::Error) -> Result<(), Failure> {
    match answer.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print_line(answer.render().to_string().trim_end())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::bad_input("a command is missing: nebula --help lists them"))
        }
        _ => Err(Failure::BadInput(in_one_line(&answer.render().to_string()))),
    }
}

/// What clap says in several paragraphs, less the usage, in one line.
fn in_one_line(text: &str) -> String {
    let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said = said.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join("; ");
    // A colon before a list of arguments, and a bracket of possible values, go on as they are.
    let line = line.replace(":; ", ": ").replace("; [", " [");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// A whole number such as `1600000`, `1_600_000`, `1600k` or `1.6M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("write a whole number such as 1600000 or 1.6M, not {text:?}");
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'G') => (&text[..text.len() - 1], 1e9),
        _ => return text.replace('_', "").parse().map_err(|_| wrong()),
    };
    let exact = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    let whole = exact.round();
    let is_whole = (exact - whole).abs() < 1e-6 * unit && (0.0..=1e15).contains(&whole);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and from 0 to 1e15")]
    is_whole.then_some(whole as u64).ok_or_else(wrong)
}

/// Bytes such as `4096`, `64KiB`, `512MiB` or `2GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1_u64)];
    let number =
        |&(suffix, unit): &(&str, u64)| text.strip_suffix(suffix)?.trim_end().parse::<u64>().ok()?.checked_mul(unit);
    units
        .iter()
        .find_map(number)
        .ok_or_else(|| format!("write bytes such as 4096, 64KiB, 512MiB or 2GiB, not {text:?}"))
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

    #[test]
    fn counts_and_bytes_read_as_people_write_them() {
        assert_eq!(
            ["1600000", "1_600_000", "1.6M", "1600k", "2G"].map(count),
            [1_600_000, 1_600_000, 1_600_000, 1_600_000, 2_000_000_000].map(Ok)
        );
        assert!(["", "k", "1.5", "-1", "1.0001k", "1e9G", "NaNk", "1.6m"].iter().all(|text| count(text).is_err()));
        assert_eq!(["4096", "64KiB", "2 GiB"].map(bytes), [4096, 65_536, 2 << 30].map(Ok));
        assert!(["", "KiB", "1.5GiB", "1KB", "99999999999999999GiB"].iter().all(|text| bytes(text).is_err()));
    }
}
