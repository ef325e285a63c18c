//! `nebula completions`: prints the completion script of a shell.

use clap_complete::Shell;

use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula completions bash > ~/.local/share/bash-completion/completions/nebula
  nebula completions zsh > ~/.zfunc/_nebula                     a folder in $fpath
  nebula completions fish > ~/.config/fish/completions/nebula.fish";

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell to generate the script for
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut program: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "nebula", &mut script);
    output::print_line(String::from_utf8_lossy(&script).trim_end())
}
