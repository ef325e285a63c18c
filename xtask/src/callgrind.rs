//! Counts the instructions of a program with valgrind's callgrind: the same number on every run and machine load.

use std::path::Path;
use std::process::Stdio;

use crate::shell::{Attempt, Failure, Shell};

/// The instructions that `program args` executes from its start to its end.
pub(crate) fn instructions(shell: &Shell, program: &Path, args: &[String]) -> Result<u64, Failure> {
    count(shell, program, args, None)
}

/// Those that it executes within the functions whose names match `pattern`, and in what they call.
pub(crate) fn instructions_within(
    shell: &Shell,
    program: &Path,
    args: &[String],
    pattern: &str,
) -> Result<u64, Failure> {
    count(shell, program, args, Some(pattern))
}

fn count(shell: &Shell, program: &Path, args: &[String], within: Option<&str>) -> Result<u64, Failure> {
    let line = format!("callgrind of `{} {}`", program.display(), args.join(" "));
    let mut valgrind = shell.command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.args(within.map(|pattern| format!("--toggle-collect={pattern}")));
    valgrind.arg(program).args(args);
    let output = valgrind.stdout(Stdio::null()).output().attempt(format!("start {line}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Failure::new(format!("{line} ended with {}: {said}", output.status)));
    }
    collected(&said).ok_or_else(|| Failure::new(format!("{line} says no count: {said}")))
}

/// The number in callgrind's closing line `==PID== Collected : N`.
fn collected(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_closing_line() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 176301\n==7== \n"), Some(176_301));
        assert_eq!(collected("==7== Process terminating\n"), None);
    }
}
