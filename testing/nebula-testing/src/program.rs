//! Running a program as its users do, each run bounded in time.

use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any run here takes on a busy machine, so that a hang fails the test.
const LIMIT: Duration = Duration::from_secs(600);

/// The outcome of a run of the program.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// Its results.
    pub stdout: String,
    /// All else.
    pub stderr: String,
}

impl Ended {
    /// Asserts the exit code, one line on standard error that holds `said`, and nothing on standard
    /// output.
    ///
    /// # Panics
    ///
    /// If it was otherwise.
    #[track_caller]
    pub fn assert_error(&self, code: i32, said: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("error: ") && self.stderr.contains(said), "{said:?} is not in {self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
    }

    /// Asserts that it ended well.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn assert_ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The program with arguments, its output piped.
#[must_use]
pub fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
///
/// # Panics
///
/// If it cannot be started.
#[must_use]
pub fn run(program: &str, args: &[&str]) -> Ended {
    wait(command(program, args).spawn().expect("the program starts"))
}

/// Waits for a child. A child that exceeds the time limit is killed and has no exit code.
///
/// # Panics
///
/// If it cannot be waited for.
pub fn wait(child: Child) -> Ended {
    let pid = pid_of(&child);
    let (ended, has_ended) = mpsc::channel();
    let watchdog = thread::spawn(move || {
        if has_ended.recv_timeout(LIMIT).is_err() {
            kill_process(pid, Signal::KILL).expect("it runs");
        }
    });
    let output = child.wait_with_output().expect("it was started");
    ended.send(()).expect("the watchdog waits");
    watchdog.join().expect("the watchdog ends");
    output.into()
}

/// Sends a signal to a child.
///
/// # Panics
///
/// If it has ended.
pub fn signal(child: &Child, signal: Signal) {
    kill_process(pid_of(child), signal).expect("it runs");
}

fn pid_of(child: &Child) -> Pid {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("the id of a process")
}
