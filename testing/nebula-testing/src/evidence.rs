//! Results that a program cannot write, and what it says and ends with then.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::program::{command, wait};

/// Standard output on a full disk, or closed, is an error of one line. A reader that has gone ends
/// the program as it ends others, without a word.
///
/// # Panics
///
/// If it is not so.
#[track_caller]
pub fn is_missing(program: &str, args: &[&str]) {
    let full: Stdio = File::options().write(true).open("/dev/full").expect("Linux has it").into();
    let ended = wait(command(program, args).stdout(full).spawn().expect("the program starts"));
    ended.assert_error(1, "cannot write the results: No space left on device");

    // The shell closes it, and the program begins without.
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$@\" >&-", "sh", program]).args(args);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = wait(shell.spawn().expect("there is a shell"));
    ended.assert_error(1, "cannot write the results: standard output is closed");

    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = wait(command(program, args).stdout(writer).spawn().expect("the program starts"));
    // As a shell reports SIGPIPE.
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(141), ""), "{args:?}");
}
