//! The program `nebula`: every command of it, and nothing that a library could do.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli` | the words of the command line, and how a wrong one is answered |
//! | `size`, `doctor` | what a server needs, and what this machine can promise |
//! | `simulate` | the laboratory: what a server would do, with error bars |
//! | `compare` | the same for the published systems, side by side |
//! | `reproduce` | published figures beside ours |
//! | `kv` | `serve kv`: the store behind an endpoint |
//! | `load` | `load kv`: the open-loop client of that service |
//! | `demo` | both in one |
//! | `keygen` | a key for `udp://` |
//! | `completions`, `man` | what a shell and `man` read, made from the words of `cli` |
//! | `studies` | points of the laboratory: threads, bar, what is refused |
//! | `flags` | flags and spellings that several commands share |
//! | `drive`, `hiccup`, `memory` | the load driver; pauses of the cores; room for the store |
//! | `report` | pages with curves and tables |
//! | `output`, `signal` | results and errors on their streams; Ctrl-C |
//!
//! **Invariant:** results go to standard output, all else to standard error; bad input ends with 2, a fault with 1, a closed pipe
//! with 0, and nothing panics. *Enforced by* [`Failure`](output::Failure), which every command returns, and `tests/words.rs`.

#![forbid(unsafe_code)]

mod cli;
mod size;
mod simulate;
mod compare;
mod reproduce;
mod doctor;
mod keygen;
mod completions;
mod man;
mod kv;
mod load;
mod report;
mod demo;
mod flags;
mod drive;
mod studies;
mod hiccup;
mod memory;
mod output;
mod signal;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(failure) = cli::run() else { return ExitCode::SUCCESS };
    if let Some(line) = failure.line() {
        output::note(line);
    }
    failure.exit_code()
}
