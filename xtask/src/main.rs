//! Nebula's development commands, including everything that CI runs, in plain Rust.
//!
//! `cargo xtask` alone lists them. Each is one module: [`mod@test`] (the steps of CI), [`tidy`]
//! (rules that no compiler knows), [`explore`] (more seeds, inputs and calls: properties, networks,
//! fuzz targets), [`mod@bench`] (the tables of docs/BENCHMARKS.md, by a library in bench/),
//! [`pages`] (reports in a browser), [`python`] (the package for Python), [`memcached`] (the server
//! compared with memcached), [`first_run`] (a newcomer's wait), [`book`] (links of the site of
//! docs/) and [`dist`] (the files of a release).
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore's output is what it is run for")]

mod area;
mod book;
mod dist;
mod explore;
mod first_run;
mod markdown;
mod memcached;
mod pages;
mod python;
mod relative;
mod sources;
mod test;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use nebula_bench_runner as bench;
use nebula_fuzz_runner as fuzz;
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
    /// Run more than a test run does: new seeds, more calls, new inputs of fuzz targets.
    Explore(explore::Args),
    /// Run the benchmarks and print one table.
    Bench(bench::Args),
    /// Open reports in headless Chromium: are charts drawn, answered and exported?
    Pages,
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
    let Some(chore) = Cli::parse_from(words(std::env::args_os().collect())).chore else {
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

/// Inserts the word `explore` before the name of an exploration.
fn words(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| explore::What::has_subcommand(&word.to_string_lossy())) {
        words.insert(1, "explore".into());
    }
    words
}

fn run(chore: &Chore) -> Result<(), Failure> {
    let shell = Shell::at_root()?;
    match chore {
        Chore::Test(args) => test::run(&shell, args),
        Chore::Tidy(args) => tidy::run(&shell, args),
        Chore::Explore(args) => explore::run(&shell, args),
        Chore::Bench(args) => bench::run(&shell, args),
        Chore::Pages => pages::run(&shell),
        Chore::Python(args) => python::run(&shell, args),
        Chore::Memcached(args) => memcached::run(&shell, args),
        Chore::Book(args) => book::run(args),
        Chore::FirstRun(args) => first_run::run(&shell, args),
        Chore::Dist(args) => dist::run(&shell, args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_explored_may_stand_alone() {
        let read = |line: &str| words(line.split(' ').map(OsString::from).collect());
        assert_eq!(read("xtask network --seed 17"), read("xtask explore network --seed 17"));
        assert_eq!(read("xtask test network"), ["xtask", "test", "network"].map(OsString::from));
        for line in ["fuzz --list", "network --seed 1 --trace", "relay --calls 9", "soak --load 0.5", "coverage"] {
            assert!(Cli::try_parse_from(read(&format!("xtask {line}"))).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(read("xtask explore --ms 5 -p nebula")).is_ok());
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
