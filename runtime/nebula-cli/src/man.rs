//! `nebula man`: manual pages, generated from the same text as `--help`.

use std::path::{Path, PathBuf};

use clap_mangen::Man;

use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula man | man -l -                                  read the page of nebula itself
  nebula man ~/.local/share/man/man1                     write a page for every command; read one with man nebula-simulate";

/// Print the manual page, or write the pages of all commands to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Existing folder for nebula.1, nebula-size.1 and so on; existing pages are overwritten
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, program: clap::Command) -> Result<(), Failure> {
    match &args.folder {
        Some(folder) => write(folder, program),
        None => print(program),
    }
}

fn print(program: clap::Command) -> Result<(), Failure> {
    let mut page = Vec::new();
    // As in `generate_to`: the command `help` has no page.
    Man::new(program.disable_help_subcommand(true)).render(&mut page)?;
    output::print_line(String::from_utf8_lossy(&page).trim_end())
}

fn write(folder: &Path, program: clap::Command) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::bad_input(format!("no folder {}: create it first", folder.display())));
    }
    let cannot = |error| Failure::bad_input(format!("cannot write to {}: {error}", folder.display()));
    clap_mangen::generate_to(program, folder).map_err(cannot)?;
    output::note(format!("wrote the manual pages to {}", folder.display()));
    Ok(())
}
