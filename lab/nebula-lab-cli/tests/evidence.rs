//! Results that cannot be written: the program says so, and does not end as if they had been.

use nebula_testing::evidence;

use crate::program::PROGRAM;

/// Commands whose results are quick to have.
const QUICK: &[&[&str]] = &[
    &["--version"],
    &["simulate", "--help"],
    &["size"],
    &["size", "--format", "json"],
    &["size", "--format", "csv"],
    &["simulate", "--rpcs", "1000", "--load", "0.5"],
    &["simulate", "--rpcs", "1000", "--load", "0.5,0.6", "--format", "json"],
    &["simulate", "--rpcs", "1000", "--load", "0.5,0.6", "--format", "csv"],
    &["reproduce", "--list"],
];

#[test]
fn results_on_a_full_disk_are_an_error_of_one_line() {
    QUICK.iter().for_each(|args| evidence::full_disk(PROGRAM, args));
}

#[test]
fn results_without_a_standard_output_are_an_error_of_one_line() {
    QUICK.iter().for_each(|args| evidence::closed(PROGRAM, args));
}

#[test]
fn a_reader_that_has_gone_ends_the_program_as_it_ends_others() {
    QUICK.iter().for_each(|args| evidence::reader_gone(PROGRAM, args));
}
