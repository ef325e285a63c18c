//! The command line: commands, help and errors.

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    completions, demo, doctor, echo, elsewhere, explain, keygen, kv, load, man, replicas, service_times, status, top,
};
use nebula_ops::life;
use nebula_ui::output::Failure;
use nebula_ui::output::program::answer_to;

const EXAMPLES: &str = "Examples:
  nebula demo                                            a service under overload, for 40 seconds
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

Exit codes: 0 success, 1 error at run time, 2 invalid input, 130 interrupted by Ctrl-C, 141 standard output is closed.
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
    Explain(explain::Args),
    Keygen(keygen::Args),
    ServiceTimes(service_times::Args),
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
}

#[derive(Debug, Subcommand)]
enum Load {
    Kv(Box<load::Args>),
    Echo(Box<load::EchoArgs>),
}

pub(crate) fn run() -> Result<(), Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    elsewhere::run(&words)?;
    let words = life::with_settings(&Cli::command(), words)?;
    let (cli, given) = match parsed(words) {
        Ok(parsed) => parsed,
        Err(answer) => return answer_to("nebula", &answer),
    };
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Completions(args) => completions::run(&args, program()),
        Command::Man(args) => man::run(&args, program()),
        Command::ServiceTimes(args) => service_times::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Replicas(args) => replicas::run(&args),
        Command::Config(life::ConfigCommand::Check(args)) => {
            elsewhere::check(&args)?;
            life::check(&args, &Cli::command(), check)
        }
        Command::Serve(Serve::Kv(args)) => kv::run(*args),
        Command::Serve(Serve::Echo(args)) => echo::run(&args),
        Command::Load(Load::Kv(args)) => load::run_command(*args, innermost(&given)),
        Command::Load(Load::Echo(args)) => load::run_echo(*args),
    }
}

/// Whether the service would refuse these settings.
fn check(service: &str, given: &ArgMatches) -> Result<(), Failure> {
    let wrong = |error: clap::Error| Failure::bad_input(error);
    match service {
        "echo" => echo::check(&echo::Args::from_arg_matches(given).map_err(wrong)?),
        _ => kv::check(&kv::Args::from_arg_matches(given).map_err(wrong)?).map(drop),
    }
}

fn innermost(given: &ArgMatches) -> &ArgMatches {
    given.subcommand().map_or(given, |(_, given)| innermost(given))
}

/// The command and its raw arguments, which distinguish a given value from a default.
fn parsed(words: Vec<OsString>) -> Result<(Cli, ArgMatches), clap::Error> {
    let given = program().try_get_matches_from(words)?;
    let cli = Cli::from_arg_matches(&given).map_err(|error| error.format(&mut Cli::command()))?;
    Ok((cli, given))
}

fn program() -> clap::Command {
    let program = elsewhere::beside(Cli::command());
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        groups(&program)
    );
    program.help_template(template)
}

const GROUPS: &[(&str, &[&str])] = &[
    ("Try it", &["demo", "doctor"]),
    ("Services and load", &["serve", "load", "config", "keygen"]),
    ("A running server", &["status", "top", "replicas", "explain"]),
    ("Installation", &["completions", "man", "help"]),
];

fn groups(program: &clap::Command) -> String {
    let line = |name: &str| {
        let about = program.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
        let about = about.unwrap_or_else(|| "Print this message or the help of the given command".to_owned());
        format!("  {name:<12} {about}\n")
    };
    let group = |title: &str, names: &mut dyn Iterator<Item = &str>| {
        format!("{title}:\n{}\n", names.map(line).collect::<String>())
    };
    let own: String = GROUPS.iter().map(|(title, names)| group(title, &mut names.iter().copied())).collect();
    format!("{own}{}", group("The laboratory, in its own program nebula-lab", &mut elsewhere::names()))
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
            if leaves.is_empty() && !elsewhere::has(command.get_name()) {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("Examples:"), "{} shows none", command.get_name());
            }
            leaves.into_iter().for_each(check);
        }
        check(&program());
    }

    #[test]
    fn the_help_has_every_command_once() {
        let mut all: Vec<String> =
            program().get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_owned()).collect();
        let listed = groups(&program());
        let mut listed: Vec<String> = listed
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .filter(|name| name != "help")
            .collect();
        all.sort();
        listed.sort();
        assert_eq!(all, listed);
    }

    /// This number may only fall: users do not learn more flags.
    const FLAGS_MAX: usize = 150;

    #[test]
    fn the_program_has_few_flags() {
        fn flags(command: &clap::Command) -> usize {
            let own = command.get_arguments().filter(|arg| arg.get_long().is_some_and(|long| long != "help")).count();
            own + command.get_subcommands().map(flags).sum::<usize>()
        }
        let flags = flags(&Cli::command());
        assert!(flags <= FLAGS_MAX, "{flags} flags, {FLAGS_MAX} at most may be");
    }
}
