//! Nebula's development commands. Everything that CI runs is here, in plain Rust; nothing has to be
//! installed by hand.
//!
//! `cargo xtask` alone prints what there is. Each chore is one module: [`mod@test`] (what CI runs,
//! step by step), [`tidy`] (rules that no compiler knows), [`fuzz`] (coverage-guided fuzzing on
//! stable Rust), [`network`] (seeded runs on a simulated network), [`relay`] (calls over a hostile
//! link), [`soak`] (a server under load for minutes), [`mod@bench`] (the tables of
//! docs/BENCHMARKS.md, by a library in bench/), [`coverage`] (whether intervals hold), [`pages`]
//! (reports in a browser), [`python`] (the package for Python), [`memcached`] (the server beside
//! memcached), [`first_run`] (how long a newcomer waits), [`book`] (links of the site of docs/) and
//! [`dist`] (what is handed out for a version).
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore's output is what it is run for")]

mod area;
mod book;
mod coverage;
mod dist;
mod explore;
mod first_run;
mod fuzz;
mod markdown;
mod memcached;
mod network;
mod pages;
mod python;
mod relative;
mod relay;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use nebula_bench_runner as bench;
use nebula_shell as shell;

use crate::shell::{Failure, Shell};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Nebula's own chores", version)]
struct Cli {
    #[command(subcommand)]
    chore: Option<Chore>,
}

#[derive(Subcommand)]
enum Chore {
    /// Run what CI runs, in order, until a step fails.
    Test(test::Args),
    /// Check the rules of the tree that no compiler knows.
    Tidy(tidy::Args),
    /// Run property tests with new random seeds, for longer.
    Explore(explore::Args),
    /// Fuzz one target, or all, on stable Rust.
    Fuzz(fuzz::Args),
    /// Run servers and clients on a simulated bad network.
    Network(network::Args),
    /// Call servers over real sockets and a hostile link.
    Relay(relay::Args),
    /// Keep a server under load, and see whether what it holds grows.
    Soak(soak::Args),
    /// Run the benchmarks and print one table.
    Bench(bench::Args),
    /// Count how often the laboratory's intervals hold the exact value.
    Coverage(coverage::Args),
    /// Open reports in headless Chromium: are charts drawn, answered and exported?
    Pages(pages::Args),
    /// Build the Python package, install it in a fresh environment, and run its tests.
    Python(python::Args),
    /// Compare the server with memcached: its protocol's edges, client libraries, hostile clients.
    Memcached(memcached::Args),
    /// Rewrite the links of the book for mdBook, which calls this.
    #[command(hide = true)]
    Book(book::Args),
    /// Measure how long a newcomer waits: from a clean clone to the demo's first row.
    FirstRun(first_run::Args),
    /// Make what is handed out for a version: a static program, a .deb, manual pages, completions.
    Dist(dist::Args),
}

fn main() -> ExitCode {
    let Some(chore) = Cli::parse().chore else {
        print!("{}", Cli::command().render_help());
        return ExitCode::SUCCESS;
    };
    match run(&chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> Result<(), Failure> {
    let shell = Shell::at_root()?;
    match chore {
        Chore::Test(args) => test::run(&shell, args),
        Chore::Tidy(args) => tidy::run(&shell, args),
        Chore::Explore(args) => explore::run(&shell, args),
        Chore::Fuzz(args) => fuzz::run(&shell, args),
        Chore::Network(args) => network::run(&shell, args),
        Chore::Relay(args) => relay::run(&shell, args),
        Chore::Soak(args) => soak::run(&shell, args),
        Chore::Bench(args) => bench::run(&shell, args),
        Chore::Coverage(args) => coverage::run(&shell, args),
        Chore::Pages(args) => pages::run(&shell, args),
        Chore::Python(args) => python::run(&shell, args),
        Chore::Memcached(args) => memcached::run(&shell, args),
        Chore::Book(args) => book::run(args),
        Chore::FirstRun(args) => first_run::run(&shell, args),
        Chore::Dist(args) => dist::run(&shell, args),
    }
}
