//! The commands of other programs: `nebula simulate` runs `nebula-lab simulate`, as git runs its
//! subcommands.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command as Process;

use clap::Command;
use nebula_ops::life::{self, CheckArgs};
use nebula_ui::{Failure, program};

struct Elsewhere {
    /// After `nebula`.
    words: &'static [&'static str],
    /// The command is this program's only with this flag.
    flag: Option<&'static str>,
    /// The program, and its own words for the command.
    program: &'static str,
    says: &'static [&'static str],
    package: &'static str,
    about: &'static str,
}

const LAB: &str = "nebula-lab";
const LAB_PACKAGE: &str = "nebula-lab-cli";
const SERVICES: &str = "nebula-services";
const AGREEMENT: &str = "nebula-agreement";

const fn lab(words: &'static [&'static str], about: &'static str) -> Elsewhere {
    Elsewhere { words, flag: None, program: LAB, says: words, package: LAB_PACKAGE, about }
}

/// A command of a program whose package has its name.
const fn of(
    program: &'static str,
    words: &'static [&'static str],
    says: &'static [&'static str],
    about: &'static str,
) -> Elsewhere {
    Elsewhere { words, flag: None, program, says, package: program, about }
}

/// The first row that matches applies.
const ELSEWHERE: &[Elsewhere] = &[
    lab(&["simulate"], "Simulate servers and NICs, with confidence intervals"),
    lab(&["compare"], "Compare published schedulers side by side"),
    lab(&["size"], "Size receive buffer, bitvector and reassembler, for a load or for a service and its SLO"),
    lab(&["sweep"], "Ask a question at every point of a grid"),
    lab(&["reproduce"], "Reproduce published figures"),
    lab(&["thresholds"], "Train the thresholds of altocumulus:G"),
    Elsewhere { flag: Some("--runtime"), ..of(AGREEMENT, &["incast"], &["incast"], "") },
    lab(&["incast"], "Compare flow controls where many senders share one receive buffer"),
    of(SERVICES, &["serve", "ordered"], &["serve", "ordered"], "An ordered key-value store: nebula-services"),
    of(SERVICES, &["serve", "nf"], &["serve", "nf"], "Network functions between two interfaces: nebula-services"),
    of(AGREEMENT, &["demo", "groups"], &["groups"], "One of two groups loaded more than the other: nebula-agreement"),
    of(AGREEMENT, &["demo", "scans"], &["scans"], "GETs and SCANs, as run and as predicted: nebula-agreement"),
    of("flight", &["demo", "flight"], &["demo"], "Flight registration in eight tiers: flight"),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let listed = ELSEWHERE.iter().filter(|elsewhere| elsewhere.words.len() == 1 && elsewhere.flag.is_none());
    listed.map(|elsewhere| elsewhere.words[0])
}

pub(crate) fn beside(program: Command) -> Command {
    let commands = ELSEWHERE.iter().filter(|elsewhere| elsewhere.flag.is_none());
    commands.fold(program, |program, elsewhere| {
        let command = |name: &'static str| Command::new(name).about(elsewhere.about);
        match *elsewhere.words {
            [group, name] => program.mut_subcommand(group, |group| group.subcommand(command(name))),
            _ => program.subcommand(command(elsewhere.words[0])),
        }
    })
}

#[cfg(test)]
pub(crate) fn has(name: &str) -> bool {
    ELSEWHERE.iter().any(|elsewhere| elsewhere.words.last() == Some(&name))
}

/// Becomes the program that has the command in `words`, if another one has it. Returns an error if
/// that program is not built.
pub(crate) fn run(words: &[OsString]) -> Result<(), Failure> {
    let Some(elsewhere) = ELSEWHERE.iter().find(|elsewhere| elsewhere.has(words)) else { return Ok(()) };
    let Elsewhere { words: own, says, .. } = elsewhere;
    elsewhere.become_it(says.iter().map(OsString::from).chain(words[1 + own.len()..].iter().cloned()))
}

/// Becomes the program whose service a settings file is for, if that is another one.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let service = life::service_of(args)?;
    let Some(elsewhere) = ELSEWHERE.iter().find(|elsewhere| elsewhere.words == ["serve", service.as_str()]) else {
        return Ok(());
    };
    elsewhere.become_it(std::env::args_os().skip(1))
}

impl Elsewhere {
    fn has(&self, words: &[OsString]) -> bool {
        let is_flag = |word: &OsString| {
            let rest = word.to_str().and_then(|word| word.strip_prefix(self.flag?));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        words.len() > self.words.len()
            && self.words.iter().zip(&words[1..]).all(|(own, word)| word == own)
            && (self.flag.is_none() || words.iter().any(is_flag))
    }

    fn become_it(&self, words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
        let Self { words: own, program, package, .. } = self;
        let path = program::path_of(program).ok_or_else(|| {
            let own = own.join(" ");
            Failure::bad_input(format!(
                "nebula {own} is a command of {program}, which is not here: cargo build --release -p {package}"
            ))
        })?;
        let error = Process::new(&path).args(words).exec();
        Err(Failure::fault(format!("cannot run {}: {error}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Option<&'static str> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        ELSEWHERE.iter().find(|elsewhere| elsewhere.has(&words)).map(|elsewhere| elsewhere.program)
    }

    #[test]
    fn a_command_belongs_to_one_program() {
        assert_eq!(of("nebula simulate --cores 4"), Some(LAB));
        assert_eq!(of("nebula size"), Some(LAB));
        assert_eq!(of("nebula incast --senders 4"), Some(LAB));
        assert_eq!(of("nebula incast --runtime=2s"), Some(AGREEMENT));
        assert_eq!(of("nebula demo scans"), Some(AGREEMENT));
        assert_eq!(of("nebula serve nf --chain counter"), Some(SERVICES));
        assert_eq!((of("nebula serve kv"), of("nebula"), of("nebula load simulate")), (None, None, None));
    }
}
