//! If results or logs cannot be written, the program says so and fails.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use std::io::Read;

use crate::program::{PROGRAM, command, endpoint, nebula, start, wait};
use nebula::Client;
use nebula_testing::evidence;

const QUICK: &[&[&str]] = &[&["--version"], &["load", "kv", "--help"], &["completions", "bash"], &["man"]];

#[test]
fn results_that_cannot_be_written_are_an_error_of_one_line_or_an_end_without_a_word() {
    QUICK.iter().for_each(|args| evidence::is_missing(PROGRAM, args));
}

#[test]
fn a_decision_log_on_a_full_disk_starts_no_server() {
    for policy in ["jbsq:2", "mcs-lock", "altocumulus:2"] {
        let endpoint = endpoint("full-log");
        let folder = tempfile::tempdir().unwrap();
        let log =
            if policy.starts_with("altocumulus") { full_log_of_groups(folder.path()) } else { "/dev/full".to_owned() };
        let serve = ["serve", "kv", "--endpoint", &endpoint, "--items", "9", "--end-with-parent"];
        let ended = nebula(
            &[&serve[..], &["--workers", "2", "--oversubscribe", "--policy", policy, "--decision-log", &log]].concat(),
        );
        ended.assert_error(1, "No space left on device");
        assert!(ended.stderr.contains(&format!("cannot write the decision log {log}")), "{ended:?}");
    }
}

/// A name in `folder`; with a group's number appended, it leads to a full disk.
fn full_log_of_groups(folder: &std::path::Path) -> String {
    for group in 0..2 {
        std::os::unix::fs::symlink("/dev/full", folder.join(format!("log.{group}"))).unwrap();
    }
    folder.join("log").to_str().unwrap().to_owned()
}

#[test]
fn a_server_whose_decision_log_cannot_be_written_any_more_ends_and_says_so() {
    let endpoint = endpoint("cut-log");
    let (mut reader, writer) = std::io::pipe().unwrap();
    // A log that is a pipe takes writes while its other end is open.
    let serve = ["serve", "kv", "--endpoint", &endpoint, "--items", "9", "--inline", "--end-with-parent"];
    let mut server = command(&[&serve[..], &["--decision-log", "/dev/fd/0"]].concat());
    server.stdin(writer);
    let (server, _) = start(server);
    let mut client = Client::connect(&endpoint).unwrap();
    client.call(b"malformed").unwrap();
    reader.read_exact(&mut [0; 10]).unwrap();
    drop(reader);
    // Calls until the server is gone.
    while client.call(b"malformed").is_ok() {}
    let ended = wait(server);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("error: cannot write the decision log /dev/fd/0: Broken pipe"), "{ended:?}");
    assert!(ended.stdout.contains("served"), "its counters are still printed: {ended:?}");
}
