//! What a program answers where clap has no command for it: help, the version, or an error in one
//! line.

use clap::error::ErrorKind;

use super::print_line;
use crate::Failure;
use crate::words::in_one_line;

/// Prints help and version, which are results. Everything else is invalid input of `program`, said
/// in one line.
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
