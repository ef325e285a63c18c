//! `cargo xtask test`: what CI runs, step by step, stopping at the first failure.
//!
//! It is what one waits for while one works: six minutes from cold on two cores. `--all` runs the
//! rest.
//!
//! What reports something within seconds comes first. Then come the steps that no other disturbs,
//! two at a time. A step that needs a tool missing on this machine says so in one line and counts
//! as skipped; CI's machine has all tools.

mod book;
mod build;
mod deep;
mod extending;
mod licenses;
mod protobuf;
mod release;
mod side_by_side;

use std::time::{Duration, Instant};

use crate::shell::{Failure, Shell};

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

/// The outcome of a step that did not fail.
enum Ending {
    Passed,
    /// Not run, and why.
    Skipped(String),
}

/// One row of the table of steps.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Shell) -> Result<Ending, Failure>,
    /// The folder that it builds in, within that of all builds: cargo builds there for one at a
    /// time.
    builds_in: &'static str,
    runs: Runs,
    when: When,
}

/// Which command runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// `cargo xtask test`, which is to end within six minutes from cold on two cores.
    First,
    /// `cargo xtask test --all`.
    All,
}

/// Whether a step runs alone, or beside those next to it in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    Alone,
    Beside,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "formatting", run: build::fmt, builds_in: "", runs: Runs::Alone, when: When::First },
    Step {
        name: "tidy",
        what: "rules of the tree that no compiler knows",
        run: build::tidy,
        builds_in: "",
        runs: Runs::Alone,
        when: When::First,
    },
    Step {
        name: "clippy",
        what: "lints of every target, warnings denied",
        run: build::clippy,
        builds_in: "debug",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "instructions",
        what: "instructions an operation do not grow with scale",
        run: deep::instructions,
        builds_in: "release",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "loom",
        what: "concurrent code under all interleavings",
        run: deep::loom,
        builds_in: "loom",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "fuzz",
        what: "each fuzz target, on the same inputs every time",
        run: deep::fuzz,
        builds_in: "release",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "extending",
        what: "docs/EXTENDING.md's recipe for a policy, applied to a copy of the tree, builds and conforms",
        run: extending::check,
        builds_in: "debug",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "doc",
        what: "documentation builds, warnings denied",
        run: build::doc,
        builds_in: "debug",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "miri",
        what: "undefined behavior in what Miri can run",
        run: deep::miri,
        builds_in: "miri",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "wasm",
        what: "the laboratory compiles without Linux's system calls",
        run: release::wasm,
        builds_in: "debug",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "package",
        what: "packages hold every file that their code includes",
        run: release::package,
        builds_in: "package",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "licenses",
        what: "every dependency's license is on the list in deny.toml",
        run: licenses::check,
        builds_in: "",
        runs: Runs::Beside,
        when: When::First,
    },
    Step {
        name: "protobuf",
        what: "messages of generated services have the bytes of Google's protobuf for Python",
        run: protobuf::check,
        builds_in: "debug",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "book",
        what: "the site of docs/ builds",
        run: book::build,
        builds_in: "book",
        runs: Runs::Beside,
        when: When::All,
    },
    Step {
        name: "replication",
        what: "a replicated store: its log, histories under faults, processes that are killed",
        run: build::replication,
        builds_in: "debug",
        runs: Runs::Alone,
        when: When::All,
    },
    Step {
        name: "test",
        what: "unit, integration and doc tests of core/ and runtime/, but for the program",
        run: build::test,
        builds_in: "debug",
        runs: Runs::Alone,
        when: When::First,
    },
    Step {
        name: "others",
        what: "the same of the program, lab/, services/, testing/ and xtask",
        run: build::others,
        builds_in: "debug",
        runs: Runs::Alone,
        when: When::All,
    },
    Step {
        name: "longer",
        what: "tests of core/ and runtime/ with as many seeds, calls and operations as find more",
        run: build::longer,
        builds_in: "debug",
        runs: Runs::Alone,
        when: When::All,
    },
];

/// The name of each step and what it checks, in order.
pub(crate) fn steps() -> impl Iterator<Item = (&'static str, &'static str)> {
    STEPS.iter().map(|step| (step.name, step.what))
}

/// Runs the chosen steps in order.
pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let steps = chosen(args)?;
    if args.list {
        STEPS.iter().for_each(|step| println!("{:14}{}", step.name, step.what));
        return Ok(());
    }
    let begun = Instant::now();
    let mut summary = Summary::default();
    for group in steps.chunk_by(|before, after| (before.runs, after.runs) == (Runs::Beside, Runs::Beside)) {
        let ran = match group {
            [alone] => vec![run_step(shell, alone)],
            several => side_by_side::run(shell, several),
        };
        ran.into_iter().for_each(|ran| summary.add(ran));
        if summary.failure.is_some() {
            break;
        }
    }
    // One step has said it all.
    if summary.lines.len() > 1 {
        println!("\n{}", summary.text(begun.elapsed()));
    }
    summary.failure.map_or(Ok(()), Err)
}

/// Runs one step between its header and its closing line.
fn run_step(shell: &Shell, step: &'static Step) -> Ran {
    println!("\n== {}: {}", step.name, step.what);
    let begun = Instant::now();
    let ran = Ran { name: step.name, ending: (step.run)(shell), took: begun.elapsed() };
    println!("== {}", ran.line());
    ran
}

/// A step that was run.
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

/// What the steps came to.
#[derive(Default)]
struct Summary {
    lines: Vec<String>,
    passed: usize,
    skipped: usize,
    failed: usize,
    /// The first.
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

    /// A line a step, with its time or why it was skipped, and one for all.
    fn text(&self, took: Duration) -> String {
        let failed = self.failed;
        let (lines, took) = (self.lines.join("\n"), seconds(took));
        format!(
            "{lines}\nall steps in {took}\nsteps: {} passed, {failed} failed, {} skipped",
            self.passed, self.skipped
        )
    }
}

/// The steps that `--only` and `--skip` leave, in the order of the table.
fn chosen(args: &Args) -> Result<Vec<&'static Step>, Failure> {
    for name in args.only.iter().chain(&args.skip) {
        if !STEPS.iter().any(|step| step.name == name) {
            let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            return Err(Failure::new(format!("no step `{name}`; there are: {}", names.join(", "))));
        }
    }
    let is_named = |names: &[String], step: &Step| names.iter().any(|name| name == step.name);
    let when = if args.all { When::All } else { When::First };
    let is_meant = |step: &Step| if args.only.is_empty() { step.when == when } else { is_named(&args.only, step) };
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
