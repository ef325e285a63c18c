//! Every example runs, ends by itself, prints what its text promises, and fits a page.

use nebula_testing::wait::Watchdog;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Each example, and what its output must contain, in this order.
const EXPECTED: &[(&str, &[&str])] = &[
    ("echo", &["reply: hello", "calls answered", "round trip: median", "RPCs served: "]),
    (
        "failure_handling",
        &[
            "reply too long: the reply is larger",
            "call while RPCs are outstanding: call() while 16 submitted RPCs are outstanding",
            "cancelled: cancelled",
            "overload: NACK: ",
            "deadline over: no answer in time",
            "server stopped: the server is gone",
        ],
    ),
    (
        "node",
        &[
            "reply: from behind: sllac eerht",
            "front: the node's server of domain 7 has stopped",
            "back: the node's server",
        ],
    ),
    (
        "one_sided",
        &[
            "version 2: 21.5 degrees at the gate",
            "version 2: 19.0 degrees in the hall",
            "counted to 3",
            "after it was revoked: one-sided operation refused: no such region",
        ],
    ),
    ("open_loop_client", &["1000 sent: ", " answered, ", "latency: median"]),
    ("own_policy", &["decisions, the same when replayed", "worker 0 got ", "worker 1 got ", "worker 2 got 2 RPCs"]),
    ("reply_later", &["reply: apple costs 9700", "100 of 100 tasks answered over one client", "RPCs served: "]),
    (
        "threads",
        &["beside RPCs of 1 µs", "dispatch threads", "worker threads", "beside RPCs of 120 µs", "end a second"],
    ),
    ("three_calls", &["reply: 0 tseuqer", "reply: 9 tseuqer", "worker served 10 RPCs; receive buffer: "]),
    (
        "two_hosts_udp",
        &[
            "serving udp://127.0.0.1:",
            "reply: one",
            "reply: four",
            "RPCs served: 4",
            "serving tcp://127.0.0.1:",
            "reply: one",
            "reply: four",
            "RPCs served: 4",
        ],
    ),
];

const LINES_MAX: usize = 60;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn names() -> Vec<String> {
    let paths =
        std::fs::read_dir(folder()).expect("the folder of examples").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<_> =
        paths.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Where cargo has built example `name`. `cargo test` builds all examples unless it is to build
/// this test alone.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("this test's path");
    let program = own.parent().and_then(Path::parent).expect("the folder of the profile").join("examples").join(name);
    assert!(
        program.exists(),
        "example {name} is not built: run cargo test -p nebula, or cargo build -p nebula --examples"
    );
    program
}

/// The output of an example, which must succeed in time.
fn output_of(name: &'static str) -> String {
    let _watchdog = Watchdog::new(name);
    let output = Command::new(program(name)).stdin(Stdio::null()).output().expect("built with the tests");
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_example_is_run() {
    let expected: Vec<_> = EXPECTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(), expected, "an example and its line in EXPECTED come together");
}

#[test]
fn every_example_ends_and_prints_what_it_promises() {
    for (name, expected) in EXPECTED {
        let output = output_of(name);
        let mut rest = &output[..];
        for part in *expected {
            let at = rest.find(part).unwrap_or_else(|| panic!("{name}: no {part:?} in its place in\n{output}"));
            rest = &rest[at + part.len()..];
        }
    }
}

#[test]
fn every_example_fits_a_page_and_says_how_to_run_it() {
    for name in names() {
        let text = std::fs::read_to_string(folder().join(format!("{name}.rs"))).expect("an example");
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines, at most {LINES_MAX} are allowed");
        assert!(text.starts_with("//! "), "{name} begins with what it shows");
        let run = format!("--example {name}");
        assert!(text.lines().filter(|line| line.starts_with("//!")).any(|line| line.contains(&run)), "{name}: {run}");
    }
}
