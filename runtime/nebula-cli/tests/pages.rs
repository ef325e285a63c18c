//! The commands in README and docs/: the program accepts each, and prints exactly the output shown.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use std::collections::BTreeMap;
use std::path::Path;

use nebula_testing::console::{Shown, shown_in};

use crate::program::nebula;

const PAGES: [&str; 5] = ["README.md", "docs/GUIDE.md", "docs/LABORATORY.md", "docs/BENCHMARKS.md", "docs/LIMITS.md"];
/// The commands of the program `nebula-lab`.
const LABORATORY: [&str; 6] = ["compare", "reproduce", "simulate", "size", "sweep", "thresholds"];

fn pages() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = PAGES.iter().flat_map(|page| shown_in(&std::fs::read_to_string(root.join(page)).unwrap()));
    all.filter(|shown| !LABORATORY.iter().any(|command| shown.args.first().is_some_and(|first| first == command)))
        .collect()
}

#[test]
fn every_command_of_the_pages_is_one_that_the_program_takes() {
    let shown = pages();
    assert!(shown.len() > 8, "{shown:?}");
    for Shown { args, .. } in &shown {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        // The program reads everything before it first, so a wrong flag or value is still an error.
        args.push("--help");
        nebula(&args).assert_ok();
    }
}

#[test]
fn a_command_that_the_program_does_not_take_is_noticed() {
    for args in [&["load", "kv", "--no-such-flag", "--help"][..], &["load", "kv", "--rate", "many", "--help"]] {
        assert_eq!(nebula(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let mut printed: BTreeMap<&[String], String> = BTreeMap::new();
    let shown = pages();
    for Shown { args, output } in shown.iter().filter(|shown| !shown.output.is_empty()) {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let printed = printed.entry(args).or_insert_with(|| nebula(&words).assert_ok().stdout);
        assert_eq!(printed, output, "{args:?}");
    }
}
