//! Running the program `nebula` as its users do, each run bounded in time.

use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any run here takes on a busy machine, so that a hang fails the test.
const LIMIT: Duration = Duration::from_secs(600);

/// The outcome of a run of the program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Asserts the exit code, one line on standard error that holds `said`, and nothing on standard
    /// output.
    #[track_caller]
    pub(crate) fn assert_error(&self, code: i32, said: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("error: ") && self.stderr.contains(said), "{said:?} is not in {self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
    }

    #[track_caller]
    pub(crate) fn assert_ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The program with arguments, its output piped.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nebula"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
pub(crate) fn nebula(args: &[&str]) -> Ended {
    wait(command(args).spawn().unwrap())
}

/// Waits for a child. A child that exceeds the time limit is killed and has no exit code.
pub(crate) fn wait(child: Child) -> Ended {
    let pid = pid_of(&child);
    let (ended, has_ended) = mpsc::channel();
    let watchdog = thread::spawn(move || {
        if has_ended.recv_timeout(LIMIT).is_err() {
            kill_process(pid, Signal::KILL).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    ended.send(()).unwrap();
    watchdog.join().unwrap();
    output.into()
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(pid_of(child), signal).unwrap();
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}
