//! The program `nebula-lab`: the laboratory's commands. Everything reusable is in the libraries.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli` | the command line, its help and its errors |
//! | `simulate` | simulated servers, with confidence intervals |
//! | `compare` | the same for the published systems, side by side |
//! | `size`, `running` | sizing a server; one that runs, as `nebula` measures it |
//! | `incast` | many senders and one receive buffer, by flow control |
//! | `reproduce` | published results and reproduced ones |
//! | `sweep` | a question at every point of a grid |
//! | `thresholds` | thresholds of `altocumulus:G`, trained |
//! | `report` | HTML reports |
//! | `progress` | progress bars |
//!
//! `nebula simulate` runs `nebula-lab simulate`, and so on. Exit codes are those of `nebula`.

#![forbid(unsafe_code)]

mod cli;
mod compare;
mod incast;
mod progress;
mod report;
mod reproduce;
mod running;
mod simulate;
mod size;
mod sweep;
mod thresholds;

use std::process::ExitCode;

use nebula_ui::output::program;

fn main() -> ExitCode {
    program::end(cli::run())
}
