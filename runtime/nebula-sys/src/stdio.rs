//! Whether the process was started with a standard output.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream, so that no
//! file gets its number. Output there is lost without an error. So this looks before it.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader runs it before the runtime and `main`.
#[used]
// SAFETY: the section holds addresses of functions that take C's arguments of `main` and may ignore
// them, as this one does.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks the kernel about a number; it reads and writes no memory, and a number without a
    // file is an error.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether the process was started with its standard output closed, as by `>&-` in a shell.
#[must_use]
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Set when this test runs itself again, with the expected answer.
    const EXPECTED: &str = "NEBULA_STDOUT_WAS_CLOSED";

    #[test]
    fn a_process_knows_whether_it_was_started_with_a_standard_output() {
        if let Ok(expected) = std::env::var(EXPECTED) {
            assert_eq!(stdout_was_closed().to_string(), expected);
            return;
        }
        let test = std::env::current_exe().unwrap();
        for (redirect, expected) in [(">&-", "true"), (">/dev/null", "false")] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" --exact stdio::tests::{NAME} {redirect}")]).arg(&test);
            let status = shell.env(EXPECTED, expected).stdin(Stdio::null()).status().unwrap();
            assert!(status.success(), "{redirect}");
        }
    }

    const NAME: &str = "a_process_knows_whether_it_was_started_with_a_standard_output";
}
