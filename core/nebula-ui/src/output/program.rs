//! The end of a program: its exit code, and its answer if clap found no command: help, the version,
//! or an error in one line.

use std::process::ExitCode;

use clap::error::ErrorKind;

use super::{note, print_line};
use crate::Failure;
use crate::words::in_one_line;

/// Prints why a command failed, and returns the exit code.
#[must_use]
pub fn end(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if let Some(line) = failure.line() {
        note(line);
    }
    failure.exit_code()
}

/// Prints help and version, which are results. All else is invalid input of `program`, reported in
/// one line.
///
/// # Errors
///
/// Invalid input, or the result cannot be printed.
pub fn answer_to(program: &str, answer: &clap::Error) -> Result<(), Failure> {
    match answer.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print_line(answer.render().to_string().trim_end()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::bad_input(format!("missing command: run {program} --help to list the commands")))
        }
        _ => Err(Failure::BadInput(in_one_line(&answer.render().to_string()))),
    }
}
