//! The program `nebula-services`: services on top of Nebula's public API.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli` | the command line, its help and its errors |
//! | `ordered` | `serve ordered`: an ordered key-value store, with scans |
//! | `nf` | `serve nf`: network functions between two interfaces |
//!
//! `nebula serve ordered` and `nebula serve nf` run this program.

#![forbid(unsafe_code)]

mod cli;
mod nf;
mod ordered;

use std::process::ExitCode;

use nebula_ui::output::program;

fn main() -> ExitCode {
    program::end(cli::run())
}
