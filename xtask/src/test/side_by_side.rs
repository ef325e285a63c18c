//! Steps that run in parallel, to use all cores.
//!
//! Each is a separate `cargo xtask test --only STEP`. Its output goes to a file and is printed as a
//! whole at its end, so that lines do not mix.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Mutex;
use std::time::Instant;

use super::{Ending, Ran, Step};
use crate::shell::{Attempt, Failure, Shell, files};

/// Each step keeps one or two cores busy.
const LANES: usize = 2;

/// Runs the steps, and begins none after a failure. Returns the results in the order of their ends.
pub(super) fn run(shell: &Shell, steps: &[&'static Step]) -> Vec<Ran> {
    let lanes = Mutex::new(Lanes { waiting: steps.iter().copied().collect(), ..Lanes::default() });
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| run_lane(shell, &lanes));
        }
    });
    lanes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).ended
}

#[derive(Default)]
struct Lanes {
    waiting: VecDeque<&'static Step>,
    /// Of running steps: cargo would make a second one wait for the first.
    busy: Vec<&'static str>,
    ended: Vec<Ran>,
}

impl Lanes {
    /// The first step that builds nothing, or whose folder of builds is not in use.
    fn begin(&mut self) -> Option<&'static Step> {
        let can_begin = |step: &&Step| step.builds_in.is_empty() || !self.busy.contains(&step.builds_in);
        let place = self.waiting.iter().position(can_begin)?;
        let step = self.waiting.remove(place)?;
        self.busy.push(step.builds_in);
        println!("\n== {}: {} (begun; its output follows when it has ended)", step.name, step.what);
        Some(step)
    }

    fn end(&mut self, step: &Step, ran: Ran, output: &str) {
        print!("\n{output}");
        self.busy.retain(|folder| *folder != step.builds_in);
        if ran.ending.is_err() {
            self.waiting.clear();
        }
        self.ended.push(ran);
    }
}

fn run_lane(shell: &Shell, lanes: &Mutex<Lanes>) {
    let lock = || lanes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    loop {
        let begun = lock().begin();
        match begun {
            Some(step) => {
                let (ran, output) = run_step(shell, step);
                lock().end(step, ran, &output);
            }
            None if lock().waiting.is_empty() => return,
            // The waiting steps need a folder of builds that is in use.
            None => std::thread::sleep(std::time::Duration::from_millis(200)),
        }
    }
}

fn run_step(shell: &Shell, step: &'static Step) -> (Ran, String) {
    let begun = Instant::now();
    let said = say(shell, step.name);
    let took = begun.elapsed();
    match said {
        Ok((is_success, output)) => {
            let ending = ending(step.name, is_success, &output);
            (Ran { name: step.name, ending, took }, output)
        }
        Err(failure) => (Ran { name: step.name, ending: Err(failure), took }, String::new()),
    }
}

fn say(shell: &Shell, name: &str) -> Result<(bool, String), Failure> {
    let folder = shell.target().join("steps");
    files::make(&folder)?;
    let path = folder.join(format!("{name}.log"));
    let log = File::create(&path).attempt(format!("create {}", path.display()))?;
    let both = log.try_clone().attempt("write to one file twice")?;
    let program = std::env::current_exe().attempt("find this program")?;
    let mut step = shell.command(program);
    let status = step
        .args(["test", "--only", name])
        .stdout(log)
        .stderr(both)
        .status()
        .attempt(format!("start the step {name}"))?;
    let output = std::fs::read(&path).attempt(format!("read {}", path.display()))?;
    Ok((status.success(), String::from_utf8_lossy(&output).into_owned()))
}

fn ending(name: &str, is_success: bool, output: &str) -> Result<Ending, Failure> {
    let begins = format!("== {name:14}");
    let line = output.lines().rev().find_map(|line| line.strip_prefix(&begins)).unwrap_or("");
    match (is_success, line.split_once(": ")) {
        (true, Some(("SKIPPED", why))) => Ok(Ending::Skipped(why.to_owned())),
        (true, _) => Ok(Ending::Passed),
        (false, Some((_, why))) => Err(Failure::new(why)),
        (false, None) => Err(Failure::new("it ended before it said why")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::step;
    use super::*;

    const PASSES: fn(&Shell) -> Result<Ending, Failure> = |_| Ok(Ending::Passed);

    fn ran(ending: Result<Ending, Failure>) -> Ran {
        Ran { name: "", ending, took: std::time::Duration::ZERO }
    }

    #[test]
    fn two_steps_never_build_in_one_folder_and_a_failure_ends_it() {
        static THREE: [Step; 3] = [step("a", "", PASSES, "x"), step("b", "", PASSES, "x"), step("c", "", PASSES, "y")];
        let mut lanes = Lanes { waiting: THREE.iter().collect(), ..Lanes::default() };
        let begin = |lanes: &mut Lanes| lanes.begin().map(|step| step.name);
        assert_eq!((begin(&mut lanes), begin(&mut lanes), begin(&mut lanes)), (Some("a"), Some("c"), None));
        lanes.end(&THREE[2], ran(Ok(Ending::Passed)), "");
        assert_eq!(begin(&mut lanes), None, "the folder of the other one is still in use");
        lanes.end(&THREE[0], ran(Err(Failure::new("x"))), "");
        assert_eq!(begin(&mut lanes), None, "none after a failure");
        assert_eq!(lanes.ended.len(), 2);
    }

    #[test]
    fn the_closing_line_says_what_came_of_a_step() {
        let line = |ending| format!("noise\n== {}\nmore", Ran { name: "miri", ..ran(ending) }.line());
        let of = |is_success, output: &str| ending("miri", is_success, output);
        assert!(matches!(of(true, &line(Ok(Ending::Passed))), Ok(Ending::Passed)));
        let skipped = of(true, &line(Ok(Ending::Skipped("no toolchain: none".into()))));
        assert!(matches!(skipped, Ok(Ending::Skipped(why)) if why == "no toolchain: none"));
        let failed = of(false, &line(Err(Failure::new("`cargo miri` ended with 1"))));
        assert_eq!(failed.err().map(|failure| failure.to_string()), Some("`cargo miri` ended with 1".to_owned()));
        assert!(of(false, "killed").is_err());
    }
}
