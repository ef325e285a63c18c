//! The program `nebula-agreement`: compares runs of the runtime with the laboratory's predictions.
//!
//! `nebula demo groups`, `nebula demo scans` and `nebula incast --runtime TIME` run this program,
//! the only one that has real and simulated time.

#![forbid(unsafe_code)]

mod agreement;
mod cli;
mod groups;
mod incast;
mod scans;

use std::process::ExitCode;

use nebula_ui::output::program;

fn main() -> ExitCode {
    program::end(cli::run())
}
