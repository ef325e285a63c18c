//! `nebula completions`: the script with which a shell completes the program's commands and flags.

use clap_complete::Shell;

use crate::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula completions bash > ~/.local/share/bash-completion/completions/nebula
  nebula completions zsh > ~/.zfunc/_nebula                     a folder of $fpath
  nebula completions fish > ~/.config/fish/completions/nebula.fish";

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell that reads the script
    shell: Shell,
}

/// Prints the script for `program`.
pub(crate) fn run(args: &Args, mut program: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "nebula", &mut script);
    output::print_line(String::from_utf8_lossy(&script).trim_end())
}
