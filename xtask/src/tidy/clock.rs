//! Tests hold on a busy machine: they neither read the time nor sleep.
//!
//! Waits, deadlines that turn a hang into a failure, and slow handlers come from `nebula-testing`.
//! This rule ignores benches, in `bench/` and the examples.

use super::Violation;
use super::code::wrong_lines;
use super::tree::Tree;
use crate::area;

const FORBIDDEN: &[&str] =
    &["Instant::now", "SystemTime::now", ".elapsed()", "thread::sleep", "park_timeout", "sleep_until", "clock_gettime"];

const ALLOWED: &[(&str, &str)] = &[
    ("testing/nebula-testing/src/wait.rs", "the waits themselves"),
    ("runtime/nebula/tests/support/relay.rs", "a link that holds datagrams back"),
    ("runtime/nebula-sys/src/clock.rs", "what it tests is the clock"),
    ("runtime/nebula/src/net/xdp/neighbors.rs", "sets a time of which it asserts nothing"),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let tests = tree.rust().filter_map(|(path, text)| Some((path, text, first_line(path, text)?)));
    tests
        .filter(|(path, ..)| !ALLOWED.iter().any(|(allowed, _)| allowed == path))
        .flat_map(|(path, text, from)| file(path, text, from))
        .collect()
}

/// The first line of a file's test code, counted from 1: of the file in `tests/`, else of its
/// module of unit tests.
fn first_line(path: &str, text: &str) -> Option<usize> {
    if !area::holds(path) || path.contains("/examples/") || path.contains("/benches/") {
        return None;
    }
    if path.contains("/tests/") || path.starts_with("testing/") {
        return Some(1);
    }
    let mut lines = text.lines().zip(1..);
    lines.find(|(line, _)| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test")).map(|(_, at)| at)
}

fn file(path: &str, text: &str, from: usize) -> Vec<Violation> {
    let mut found = wrong_lines(path, text, |line| {
        let word = FORBIDDEN.iter().find(|word| line.contains(**word))?;
        Some(format!("`{word}` in a test: use the waits of nebula-testing, or virtual time"))
    });
    found.retain(|violation| violation.line >= from);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_test_that_sleeps_or_measures_is_found() {
        let text =
            "// Instant::now\nfn f() {\n    thread::sleep(d);\n    let t = Instant::now();\n    t.elapsed() < d\n}\n";
        assert_eq!(found("runtime/nebula/tests/pool.rs", text), [3, 4, 5]);
        assert_eq!(found("services/shop/tests/deep/er.rs", "std::thread::park_timeout(d);\n"), [1]);
        assert_eq!(found("testing/typed-tests/tests/calls.rs", "SystemTime::now();\n"), [1]);
    }

    #[test]
    fn unit_tests_are_tests_and_the_code_above_them_is_not() {
        let text = "fn f() { Instant::now() }\n#[cfg(test)]\nmod tests {\n    Instant::now();\n}\n";
        assert_eq!(found("runtime/nebula/src/engine.rs", text), [4]);
    }

    #[test]
    fn examples_benches_and_the_waits_may() {
        let text = "Instant::now();\n";
        for path in ["core/nebula-nic/examples/decisions.rs", "bench/src/echo.rs", "testing/nebula-testing/src/wait.rs"]
        {
            assert_eq!(found(path, text), [0; 0], "{path}");
        }
    }

    #[test]
    fn what_is_allowed_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (path, _) in ALLOWED {
            assert!(root.join(path).is_file(), "{path}");
        }
    }
}
