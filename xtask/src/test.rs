//! `cargo xtask test`: the steps of CI, stopping at the first failure.
//!
//! The first steps are what a developer waits for: six minutes from cold on two cores. `--all` runs
//! the rest.
//!
//! Steps that report within seconds come first. Then come the steps that do not disturb others, two
//! at a time. A step that needs a missing tool says so in one line and counts as skipped; CI's
//! machine has all tools.

mod book;
mod build;
mod contained;
mod deep;
mod extending;
mod licenses;
mod metadata;
mod protobuf;
mod release;
mod side_by_side;

use std::process::Command;
use std::time::{Duration, Instant};

use crate::shell::{Failure, Shell, run as run_command};

/// Arguments of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run this step alone; may be given again.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Leave this step out; may be given again.
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,
    /// Run the rest: the steps that take longer. CI runs them next.
    #[arg(long, alias = "later", conflicts_with = "only")]
    all: bool,
    /// Print the steps and stop.
    #[arg(long)]
    list: bool,
}

enum Ending {
    Passed,
    /// With the reason.
    Skipped(String),
}

fn passed(command: &mut Command) -> Result<Ending, Failure> {
    run_command(command)?;
    Ok(Ending::Passed)
}

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Shell) -> Result<Ending, Failure>,
    /// Its folder of builds: cargo builds there for one command at a time.
    builds_in: &'static str,
    /// Whether it runs alone. Others may run in parallel with their neighbors in the table.
    is_alone: bool,
    /// Whether `cargo xtask test` runs it, within six minutes from cold on two cores in all,
    /// instead of `--all`.
    is_first: bool,
}

/// A step of `cargo xtask test --all` that may run in parallel with others.
const fn step(
    name: &'static str,
    what: &'static str,
    run: fn(&Shell) -> Result<Ending, Failure>,
    builds_in: &'static str,
) -> Step {
    Step { name, what, run, builds_in, is_alone: false, is_first: false }
}

impl Step {
    const fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    const fn first(self) -> Self {
        Self { is_first: true, ..self }
    }
}

const STEPS: &[Step] = &[
    step("fmt", "formatting", build::fmt, "").first(),
    step("tidy", "rules of the tree that no compiler knows", build::tidy, "").first(),
    step("clippy", "lints of every target, warnings denied", build::clippy, "debug"),
    step("instructions", "instructions an operation do not grow with scale", deep::instructions, "release"),
    step("loom", "concurrent code under all interleavings", deep::loom, "loom"),
    step("fuzz", "each fuzz target, on the same inputs every time", deep::fuzz, "release"),
    step(
        "extending",
        "docs/EXTENDING.md's recipe for a policy, applied to a copy of the tree, builds and conforms",
        extending::check,
        "debug",
    ),
    step("doc", "documentation builds, warnings denied", build::doc, "debug"),
    step("miri", "undefined behavior in what Miri can run", deep::miri, "miri"),
    step("wasm", "the laboratory compiles without Linux's system calls", release::wasm, "debug"),
    step("package", "packages hold every file that their code includes", release::package, "package"),
    step("licenses", "every dependency's license is on the list in deny.toml", licenses::check, "").first(),
    step(
        "protobuf",
        "messages of generated services have the bytes of Google's protobuf for Python",
        protobuf::check,
        "debug",
    ),
    step("book", "the site of docs/ builds", book::build, "book"),
    step(
        "replication",
        "a replicated store: its log, histories under faults, processes that are killed",
        build::replication,
        "debug",
    )
    .alone(),
    step("test", "unit, integration and doc tests of core/ and runtime/, but for the program", build::test, "debug")
        .alone()
        .first(),
    step("others", "the same of the program, lab/, services/, testing/ and xtask", build::others, "debug").alone(),
    step(
        "longer",
        "tests of core/ and runtime/ with as many seeds, calls and operations as find more",
        build::longer,
        "debug",
    )
    .alone(),
    step(
        "contained",
        "whole servers and clients in a container, with a root that cannot be written",
        contained::check,
        "debug",
    )
    .alone(),
];

pub(crate) fn steps() -> impl Iterator<Item = (&'static str, &'static str)> {
    STEPS.iter().map(|step| (step.name, step.what))
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let steps = chosen(args)?;
    if args.list {
        STEPS.iter().for_each(|step| println!("{:14}{}", step.name, step.what));
        return Ok(());
    }
    let begun = Instant::now();
    let mut summary = Summary::default();
    for group in steps.chunk_by(|before, after| !before.is_alone && !after.is_alone) {
        let ran = match group {
            [alone] => vec![run_step(shell, alone)],
            several => side_by_side::run(shell, several),
        };
        ran.into_iter().for_each(|ran| summary.add(ran));
        if summary.failure.is_some() {
            break;
        }
    }
    // A single step has printed its own line.
    if summary.lines.len() > 1 {
        println!("\n{}", summary.text(begun.elapsed()));
    }
    summary.failure.map_or(Ok(()), Err)
}

fn run_step(shell: &Shell, step: &'static Step) -> Ran {
    println!("\n== {}: {}", step.name, step.what);
    let begun = Instant::now();
    let ran = Ran { name: step.name, ending: (step.run)(shell), took: begun.elapsed() };
    println!("== {}", ran.line());
    ran
}

struct Ran {
    name: &'static str,
    ending: Result<Ending, Failure>,
    took: Duration,
}

impl Ran {
    fn line(&self) -> String {
        let took = seconds(self.took);
        match &self.ending {
            Ok(Ending::Passed) => format!("{:14}passed in {took}", self.name),
            Ok(Ending::Skipped(why)) => format!("{:14}SKIPPED: {why}", self.name),
            Err(failure) => format!("{:14}FAILED after {took}: {failure}", self.name),
        }
    }
}

#[derive(Default)]
struct Summary {
    lines: Vec<String>,
    passed: usize,
    skipped: usize,
    failed: usize,
    failure: Option<Failure>,
}

impl Summary {
    fn add(&mut self, ran: Ran) {
        self.lines.push(ran.line());
        match ran.ending {
            Ok(Ending::Passed) => self.passed += 1,
            Ok(Ending::Skipped(_)) => self.skipped += 1,
            Err(failure) => {
                self.failed += 1;
                self.failure.get_or_insert(Failure::new(format!("step {} failed: {failure}", ran.name)));
            }
        }
    }

    /// A line for each step, with its time or why it was skipped, and one for all.
    fn text(&self, took: Duration) -> String {
        let failed = self.failed;
        let (lines, took) = (self.lines.join("\n"), seconds(took));
        format!(
            "{lines}\nall steps in {took}\nsteps: {} passed, {failed} failed, {} skipped",
            self.passed, self.skipped
        )
    }
}

fn chosen(args: &Args) -> Result<Vec<&'static Step>, Failure> {
    for name in args.only.iter().chain(&args.skip) {
        if !STEPS.iter().any(|step| step.name == name) {
            let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            return Err(Failure::new(format!("no step `{name}`; there are: {}", names.join(", "))));
        }
    }
    let is_named = |names: &[String], step: &Step| names.iter().any(|name| name == step.name);
    let is_meant =
        |step: &Step| if args.only.is_empty() { step.is_first != args.all } else { is_named(&args.only, step) };
    let is_chosen = |step: &&Step| is_meant(step) && !is_named(&args.skip, step);
    Ok(STEPS.iter().filter(is_chosen).collect())
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str], skip: &[&str]) -> Result<Vec<&'static str>, Failure> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let steps = chosen(&Args { only: owned(only), skip: owned(skip), all: false, list: false })?;
        Ok(steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn the_summary_has_times_what_was_skipped_and_why_and_what_failed() {
        let ran = |name, ending| Ran { name, ending, took: Duration::from_millis(1500) };
        let mut summary = Summary::default();
        summary.add(ran("fmt", Ok(Ending::Passed)));
        summary.add(ran("miri", Ok(Ending::Skipped("no toolchain".into()))));
        summary.add(ran("test", Err(Failure::new("`cargo test` ended with 101"))));
        let expected = "fmt           passed in 1.5 s\nmiri          SKIPPED: no toolchain\n\
                        test          FAILED after 1.5 s: `cargo test` ended with 101\n\
                        all steps in 3.0 s\nsteps: 1 passed, 1 failed, 1 skipped";
        assert_eq!(summary.text(Duration::from_secs(3)), expected);
        assert!(summary.failure.is_some_and(|failure| failure.to_string().starts_with("step test failed: ")));
    }

    #[test]
    fn every_step_is_run_by_one_of_the_two_commands() {
        let all_others = chosen(&Args { only: Vec::new(), skip: Vec::new(), all: true, list: false }).expect("no name");
        let mut all = names(&[], &[]).expect("no name to be wrong");
        assert!(all.contains(&"test") && all_others.iter().any(|step| step.name == "instructions"));
        all.extend(all_others.iter().map(|step| step.name));
        all.sort_unstable();
        let mut steps: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        steps.sort_unstable();
        assert_eq!(all, steps);
    }

    #[test]
    fn only_and_skip_keep_the_order_of_the_table() {
        assert_eq!(names(&["test", "fmt", "doc"], &["doc"]).expect("known names"), ["fmt", "test"]);
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_names_there_are() {
        let failure = names(&["tests"], &[]).expect_err("there is no step of this name");
        assert!(failure.to_string().contains("there are: fmt, "), "{failure}");
    }
}
