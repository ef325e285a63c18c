//! The commands in README and docs/: the program accepts each, and prints exactly the output shown.

use nebula_testing::console::{assert_printed, assert_taken, shown_of};

use crate::program::{PROGRAM, nebula};

#[test]
fn every_command_of_the_pages_is_one_that_the_program_takes() {
    assert_taken(PROGRAM, &shown_of(false));
}

#[test]
fn a_command_that_the_program_does_not_take_is_noticed() {
    for args in [&["load", "kv", "--no-such-flag", "--help"][..], &["load", "kv", "--rate", "many", "--help"]] {
        assert_eq!(nebula(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    assert_printed(PROGRAM, shown_of(false).iter().filter(|shown| !shown.output.is_empty()));
}
