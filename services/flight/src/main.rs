//! Flight registration after Dagger (ASPLOS 2021): eight tiers, a process each, from one `.proto`.
//!
//! `cargo run --release -p flight -- run` starts them, loads them and shows what each sees;
//! `compare` finds the highest load within the SLO with handlers where RPCs arrive, and with
//! handlers elsewhere. `nebula demo flight` draws that.

#![forbid(unsafe_code)]

mod app;
mod demo;
mod edge;
mod flight;
mod load;
mod measure;
mod page;
mod peer;
mod places;
mod serving;
mod show;
mod tier;
mod tiers;
mod work;

use clap::Parser;
use nebula_ui::output::program;
use std::error::Error;
use std::num::NonZeroU64;
use std::process::ExitCode;

/// Flight registration in eight tiers, a process each
#[derive(Debug, Parser)]
enum Command {
    /// Be one tier, until the process is ended
    Tier(serving::Args),
    /// Start all tiers, load them, and show what each sees
    Run(measure::RunArgs),
    /// Find the highest load within the SLO, with handlers where RPCs arrive and with handlers
    /// elsewhere
    Compare(measure::CompareArgs),
    Demo(demo::Args),
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| show::fault(&*error))
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    // Waits are of microseconds: the kernel would lengthen each by up to 50. The threads that are
    // started from here inherit it.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1_000))?;
    match Command::parse() {
        Command::Tier(args) => serving::run(&args)?,
        Command::Run(args) => measure::run(&args)?,
        Command::Compare(args) => measure::compare(&args)?,
        Command::Demo(args) => return Ok(program::end(demo::run(&args))),
    }
    Ok(ExitCode::SUCCESS)
}
