//! The program `nebula-agreement`: runs of the runtime beside what the laboratory predicts of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `groups` | one of two groups loaded more than the other, after Altocumulus |
//! | `scans` | GETs and SCANs of one core, after RPCValet |
//! | `incast` | many senders and one receive buffer, by flow control |
//! | `agreement` | intervals of a run and of its prediction |
//!
//! `nebula demo groups`, `nebula demo scans` and `nebula incast --runtime TIME` run this program.
//! It is the only one that knows real and simulated time.

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
