//! `nebula-hw`: lockstep, synthesis and proofs of the NIC in hardware, and the page of their
//! results.
//!
//! `cargo hw rtl`, from the root of the repository, is short for
//! `cargo run --manifest-path hardware/Cargo.toml --package nebula-hw -- rtl`.
//!
//! | module | question |
//! |---|---|
//! | [`rtl`] | does the RTL decide as the state machines do? |
//! | [`synth`] | how many gates, how long a path, how much power? |
//! | [`page`] | are docs/HARDWARE.md and its pictures those of the last results? |
//! | [`formal`] | which properties hold for runs of any length? |
#![forbid(unsafe_code)]

mod formal;
mod page;
mod rtl;
mod synth;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use nebula_shell::{Failure, Shell};

#[derive(Parser)]
#[command(name = "nebula-hw", about = "The NIC in hardware: lockstep, synthesis, proofs", version)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Compare the NIC in hardware with its state machines, decision by decision.
    Rtl(rtl::Args),
    /// Count gates, and time the longest path, of the RTL.
    Synth(synth::Args),
    /// Prove properties of the RTL's modules, and find a wrong change with each.
    Formal(formal::Args),
    /// Check that docs/HARDWARE.md and its pictures are those of hardware/synth/results.json.
    Page(page::Args),
}

fn main() -> ExitCode {
    match run(&Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("nebula-hw: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> Result<(), Failure> {
    let shell = Shell::at_root()?;
    match chore {
        Chore::Rtl(args) => rtl::run(&shell, args),
        Chore::Synth(args) => synth::run(&shell, args),
        Chore::Formal(args) => formal::run(&shell, args),
        Chore::Page(args) => page::run(&shell, args),
    }
}
