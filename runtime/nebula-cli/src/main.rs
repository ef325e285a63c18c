//! The program `nebula`: its commands. Everything reusable is in the libraries.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli` | the command line, its help and its errors |
//! | `elsewhere` | the commands of other programs, such as `nebula-lab` |
//! | `doctor` | checks of this machine |
//! | `kv`, `echo` | `serve kv`: the key-value service; `serve echo` and `load echo` |
//! | `status`, `top` | a running server: its counters once, and live |
//! | `replicas` | the replicas of `serve kv --replicate` |
//! | `load` | `load kv`: the open-loop client of that service |
//! | `demo` | service and load in one command |
//! | `keygen` | a key for `udp://` and `tcp://` |
//! | `completions`, `man` | shell completions and manual pages, generated from `cli` |
//! | `flags` | flags and value syntax shared by several commands |
//! | `drive`, `hiccup`, `memory` | the load driver; pauses of the cores; memory for the store |
//! | `report` | HTML reports and SVG charts |
//! | `service_times` | the service times of a running server, for `nebula-lab size --from` |
//!
//! **Invariant:** results go to standard output, all else to standard error. The exit code is 2 for
//! invalid input, 1 for a fault, 141 if the reader of the results has gone, and nothing panics.
//! *Enforced by* [`Failure`](nebula_ui::Failure), which every command returns, `tests/words.rs` and
//! `tests/evidence.rs`.

#![forbid(unsafe_code)]

mod cli;
mod doctor;
mod keygen;
mod completions;
mod man;
mod kv;
mod echo;
mod status;
mod top;
mod replicas;
mod load;
mod report;
mod demo;
mod flags;
mod drive;
mod elsewhere;
mod explain;
mod hiccup;
mod service_times;
mod memory;

use std::process::ExitCode;

use nebula_ui::output::program;

fn main() -> ExitCode {
    program::end(cli::run())
}
