//! The step in which whole servers and clients run in a container: fresh PID, mount, user and
//! control-group namespaces, a root that cannot be written, and a `/dev/shm` of 1 MiB.

use super::{Ending, passed};
use crate::shell::{Attempt, Failure, Shell};
use std::ffi::OsString;
use std::process::Command;

/// Tests with several processes or threads over each transport, and those of clients that are
/// killed, say nothing, or break the protocol.
const LIBRARY: &[&str] = &["end_to_end::", "kill::", "quiet::", "hostile::", "balanced::", "tcp::", "udp_loopback::"];
const PROGRAM: &[&str] = &["operations::", "kept::"];

/// The first argument is the folder of builds, which stays writable.
const SETUP: &str =
    "mount -t tmpfs -o size=1m shm /dev/shm && mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro / && exec \"$@\"";

pub(super) fn check(shell: &Shell) -> Result<Ending, Failure> {
    let temporary = shell.target().join("tmp");
    std::fs::create_dir_all(&temporary).attempt(format!("make the folder {}", temporary.display()))?;
    let tried = contained(shell, Command::new("true")).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return Ok(Ending::Skipped("this machine allows no namespaces (unshare --user --pid --mount)".into()));
    }
    for (package, tests) in [("nebula", LIBRARY), ("nebula-cli", PROGRAM)] {
        let build = ["test", "-p", package, "--test", "all"];
        passed(shell.cargo(&build).arg("--no-run"))?;
        let mut test = shell.cargo(&build);
        test.args(["--offline", "--"]).args(tests);
        passed(&mut contained(shell, test))?;
    }
    Ok(Ending::Passed)
}

/// The command in a container.
fn contained(shell: &Shell, command: Command) -> Command {
    let mut inside = Command::new("unshare");
    inside.args([
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount",
        "--mount-proc",
        "--cgroup",
    ]);
    inside.args(["sh", "-c", SETUP]).arg(shell.target()).env("TMPDIR", shell.target().join("tmp"));
    inside.arg(command.get_program()).args(command.get_args());
    let set = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    inside.envs(set.collect::<Vec<(OsString, OsString)>>());
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}
