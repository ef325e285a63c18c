//! The commands of other programs: `nebula simulate` runs `nebula-lab simulate`, as git runs its
//! subcommands.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command as Process;

use clap::Command;
use nebula_ui::{Failure, program};

/// A command that another program has.
struct Elsewhere {
    /// The words after `nebula`.
    words: &'static [&'static str],
    /// The program, and the words that it calls this by.
    program: &'static str,
    says: &'static [&'static str],
    /// The package that it is built from.
    package: &'static str,
    about: &'static str,
}

const LAB: &str = "nebula-lab";
const LAB_PACKAGE: &str = "nebula-lab-cli";

const fn lab(words: &'static [&'static str], about: &'static str) -> Elsewhere {
    Elsewhere { words, program: LAB, says: words, package: LAB_PACKAGE, about }
}

/// Which words belong to which program.
const ELSEWHERE: &[Elsewhere] = &[
    lab(&["simulate"], "Simulate servers and NICs, with confidence intervals"),
    lab(&["compare"], "Compare published schedulers side by side"),
    lab(&["size"], "Size receive buffer, bitvector and reassembler, for a load or for a service and its SLO"),
    lab(&["sweep"], "Ask a question at every point of a grid"),
    lab(&["reproduce"], "Reproduce published figures"),
    lab(&["thresholds"], "Train the thresholds of altocumulus:G"),
];

/// The names of the commands that stand beside the program's own in its help.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ELSEWHERE.iter().filter_map(|elsewhere| match elsewhere.words {
        [name] => Some(*name),
        _ => None,
    })
}

/// The program with the commands of others, which completions and help name.
pub(crate) fn beside(program: Command) -> Command {
    ELSEWHERE.iter().fold(program, |program, elsewhere| match elsewhere.words {
        [name] => program.subcommand(Command::new(*name).about(elsewhere.about)),
        _ => program,
    })
}

/// Becomes the program that these words are for, if another one has them.
///
/// # Errors
///
/// Invalid input: that program is not built. Otherwise this does not return.
pub(crate) fn run(words: &[OsString]) -> Result<(), Failure> {
    let Some(elsewhere) = ELSEWHERE.iter().find(|elsewhere| elsewhere.has(words)) else { return Ok(()) };
    let Elsewhere { words: own, program, says, package, .. } = elsewhere;
    let path = program::path_of(program).ok_or_else(|| {
        let own = own.join(" ");
        Failure::bad_input(format!(
            "nebula {own} is a command of {program}, which is not here: cargo build --release -p {package}"
        ))
    })?;
    let error = Process::new(&path).args(*says).args(&words[1 + own.len()..]).exec();
    Err(Failure::fault(format!("cannot run {}: {error}", path.display())))
}

impl Elsewhere {
    fn has(&self, words: &[OsString]) -> bool {
        words.len() > self.words.len() && self.words.iter().zip(&words[1..]).all(|(own, word)| word == own)
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
        assert_eq!((of("nebula serve kv"), of("nebula"), of("nebula load simulate")), (None, None, None));
    }
}
