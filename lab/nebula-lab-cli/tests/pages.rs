//! The commands in README and docs/: the program accepts each of them, and commands shown with
//! output print exactly that output.

use nebula_testing::console::{Shown, assert_printed, assert_taken, shown_of};

use crate::program::{PROGRAM, nebula};

/// Searches under many systems: half a minute of a release build.
const TOO_LONG: &str = "compare --workload exponential:1us";

#[test]
fn every_command_of_the_pages_is_one_that_the_program_takes() {
    assert_taken(PROGRAM, &shown_of(true));
}

#[test]
fn a_command_that_the_program_does_not_take_is_noticed() {
    for args in [&["simulate", "--no-such-flag", "--help"][..], &["simulate", "--cores", "many", "--help"]] {
        assert_eq!(nebula(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let shown: Vec<Shown> = shown_of(true).into_iter().filter(|shown| !shown.output.is_empty()).collect();
    let (long, short): (Vec<_>, Vec<_>) = shown.iter().partition(|shown| shown.args.join(" ").starts_with(TOO_LONG));
    assert_eq!(long.len(), 1, "the one that LABORATORY.md says is only parsed: {long:?}");
    assert!(short.len() >= 4, "{short:?}");
    assert_printed(PROGRAM, short);
}
