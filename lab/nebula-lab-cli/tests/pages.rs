//! The commands in README and docs/: the program accepts each of them, and commands shown with
//! output print exactly that output.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use std::collections::BTreeMap;
use std::path::Path;

use nebula_testing::console::{Shown, shown_in};

use crate::program::nebula;

const PAGES: [&str; 5] = ["README.md", "docs/GUIDE.md", "docs/LABORATORY.md", "docs/BENCHMARKS.md", "docs/LIMITS.md"];
/// Searches under many systems: half a minute of a release build.
const TOO_LONG: &str = "compare --workload exponential:1us";
/// The commands of the program `nebula-lab`.
const LABORATORY: [&str; 6] = ["compare", "reproduce", "simulate", "size", "sweep", "thresholds"];

fn pages() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = PAGES.iter().flat_map(|page| shown_in(&std::fs::read_to_string(root.join(page)).unwrap()));
    all.filter(|shown| LABORATORY.iter().any(|command| shown.args.first().is_some_and(|first| first == command)))
        .collect()
}

#[test]
fn every_command_of_the_pages_is_one_that_the_program_takes() {
    let shown = pages();
    assert!(shown.len() > 8, "{shown:?}");
    for Shown { args, .. } in &shown {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        // What is before it is read first: a wrong flag or value is an error all the same.
        args.push("--help");
        nebula(&args).assert_ok();
    }
}

#[test]
fn a_command_that_the_program_does_not_take_is_noticed() {
    for args in [&["simulate", "--no-such-flag", "--help"][..], &["simulate", "--cores", "many", "--help"]] {
        assert_eq!(nebula(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let shown: Vec<Shown> = pages().into_iter().filter(|shown| !shown.output.is_empty()).collect();
    let (long, short): (Vec<_>, Vec<_>) = shown.iter().partition(|shown| shown.args.join(" ").starts_with(TOO_LONG));
    assert_eq!(long.len(), 1, "the one that LABORATORY.md says is only parsed: {long:?}");
    assert!(short.len() >= 4, "{short:?}");
    let mut printed: BTreeMap<&[String], String> = BTreeMap::new();
    for Shown { args, output } in short {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let printed = printed.entry(args).or_insert_with(|| nebula(&words).assert_ok().stdout);
        assert_eq!(printed, output, "{args:?}");
    }
}
