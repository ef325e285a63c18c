//! Runs the program `nebula` as its users do.

use std::process::Command;

pub(crate) use nebula_testing::program::*;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_nebula");

/// The program with arguments and piped output.
pub(crate) fn command(args: &[&str]) -> Command {
    nebula_testing::program::command(PROGRAM, args)
}

pub(crate) fn nebula(args: &[&str]) -> Ended {
    nebula_testing::program::run(PROGRAM, args)
}
