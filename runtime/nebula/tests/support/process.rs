//! Processes of a test: its own executable, run again with a role.
//!
//! A test with other processes begins with [`role`]. In a spawned process this returns the role to
//! play, after which the process ends. The process sends lines to the test, and ends with its
//! parent, however that ends.

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

const ROLE: &str = "NEBULA_TEST_ROLE";
/// Marks a process's own lines among those of the test harness.
const MARK: char = '@';

/// The words that a process was spawned with; `None` in the test itself.
pub(crate) fn role() -> Option<Vec<String>> {
    let words = std::env::var(ROLE).ok()?;
    // The process must end even when the test is killed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).expect("a signal at the parent's end");
    Some(words.split(' ').map(str::to_owned).collect())
}

pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{line}").and_then(|()| out.flush()).expect("the test listens");
}

pub(crate) fn wait_for_end() {
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        line.clear();
    }
}

fn own_executable() -> PathBuf {
    std::env::current_exe().expect("the test's own executable")
}

/// Runs what follows in its own PID, mount, user and cgroup namespaces, with a root that cannot be
/// written and a `/dev/shm` of 1 MiB, as in a container of a pod.
pub(crate) fn container() -> Command {
    const SETUP: &str = "mount -t tmpfs -o size=1m shm /dev/shm && mount -o remount,bind,ro / && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--cgroup"]);
    command.args(["sh", "-c", SETUP]);
    command
}

/// Another process, killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
}

impl Process {
    /// Runs the test of that name in a separate process, with the words of its role.
    pub(crate) fn spawn(test: &str, words: &[&str]) -> Self {
        Self::spawn_by(&mut Command::new(own_executable()), test, words)
    }

    /// The same in a container: see [`container`].
    pub(crate) fn spawn_in_container(test: &str, words: &[&str]) -> Self {
        Self::spawn_by(container().arg(own_executable()), test, words)
    }

    fn spawn_by(command: &mut Command, test: &str, words: &[&str]) -> Self {
        let mut child = command
            .args([test, "--exact", "--nocapture"])
            .env(ROLE, words.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let (stdin, out) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Self { child, stdin, out: BufReader::new(out) }
    }

    /// The next line from the process; `None` once it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            if let Some((_, said)) = line.split_once(MARK) {
                return Some(said.trim_end().to_owned());
            }
        }
    }

    pub(crate) fn wait_for(&mut self, expected: &str) {
        assert_eq!(self.line().as_deref(), Some(expected));
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        let changed = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED).expect("a child");
        assert!(changed.is_some_and(|(_, status)| status.stopped()), "{changed:?}");
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("a child can be signaled");
    }

    /// Releases the process and waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().expect("a child ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
