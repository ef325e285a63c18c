//! Running the program `nebula-lab` as its users do.

use std::process::Command;

pub(crate) use nebula_testing::program::*;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_nebula-lab");

/// The program with arguments, its output piped.
pub(crate) fn command(args: &[&str]) -> Command {
    nebula_testing::program::command(PROGRAM, args)
}

/// Runs the program to its end.
pub(crate) fn nebula(args: &[&str]) -> Ended {
    nebula_testing::program::run(PROGRAM, args)
}
